// The other half of the pages in light colours.
import { testLooks } from "./looks.mjs";

testLooks("light", 1);
