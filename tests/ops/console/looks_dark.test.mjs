// Every page in dark colours.
import { testLooks } from "./looks.mjs";

testLooks("dark");
