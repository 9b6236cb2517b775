// The console begins here.
import "./style.css";
import { render } from "preact";
import { App } from "./shell/app";

render(<App />, document.body);
