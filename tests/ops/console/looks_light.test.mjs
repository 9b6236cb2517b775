// Every page in light colours.
import { testLooks } from "./looks.mjs";

testLooks("light");
