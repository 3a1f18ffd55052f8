import { awsCliFor } from "./aws-cli.ts";
import { PYTHON_TARGET, RECEIVERS_HERE, STACK } from "./cdk.ts";
import { readDeployOptions } from "./command-line.ts";
import { startMiniStack } from "./ministack-server.ts";
import { adaptAssembly } from "./ministack-template.ts";
import { proveStack } from "./prove.ts";
import { runSession } from "./session.ts";
import { runSuite, runTests } from "./suite.ts";

await runSession("test:deploy", readDeployOptions, async (session, { stack }) => {
  if (stack !== undefined) return runSuite(session, "aws", stack, process.env);
  const env = await startMiniStack(session);
  const adapt = (assembly: string) => adaptAssembly(assembly, STACK);
  const awsCli = await awsCliFor(session);
  const changeStacks = (): Promise<void> => {
    session.progress("tests of changes to a stack (the project life): some minutes");
    return runTests(session, "life", { ...env, ...awsCli });
  };
  await proveStack(session, "ministack", {
    env,
    context: [RECEIVERS_HERE, PYTHON_TARGET],
    adapt,
    beside: changeStacks,
  });
});
