// The other half of the pages in dark colours.
import { testLooks } from "./looks.mjs";

testLooks("dark", 1);
