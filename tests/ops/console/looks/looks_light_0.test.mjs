// Half of the pages in light colours.
import { testLooks } from "./looks.mjs";

testLooks("light", 0);
