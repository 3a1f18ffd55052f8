import { emptyStack, type FunctionSpec, type StackSpec } from "../../local/template/resources.ts";

export function functionSpec(name: string): FunctionSpec {
  return {
    logicalId: name,
    name,
    arn: `arn:aws:lambda:us-east-1:0:function:${name}`,
    handler: "index.handler",
    codeDir: `/code/${name}`,
    codeHash: name,
    timeoutMs: 3000,
    memoryMb: 128,
    environment: {},
    reservedConcurrency: undefined,
  };
}

export function stackWith(parts: Partial<StackSpec>): StackSpec {
  return { ...emptyStack(), ...parts };
}
