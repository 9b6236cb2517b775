// The file named is held against the schema of OpenAPI 3.1, and against the recommended rules of a linter: references,
// examples that fit, names, answers. Exits with 1 where either finds a fault.
import { createConfig, formatProblems, getTotals, lint } from "@redocly/openapi-core";
import { Validator } from "@seriousme/openapi-schema-validator";

const file = process.argv[2];
const { valid, errors } = await new Validator().validate(file);
if (!valid) console.error(errors);

const config = await createConfig({ extends: ["recommended"] });
const problems = await lint({ ref: file, config });
formatProblems(problems, { totals: getTotals(problems), version: "", format: "codeframe" });

process.exit(valid && problems.length === 0 ? 0 : 1);
