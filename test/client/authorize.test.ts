import { describe, expect, test } from "vitest";
import { authorizeBy, type Outgoing, signed } from "../../src/client/authorize.ts";
import { createClient } from "../../src/client/client.ts";
import { signatureOf } from "../support/signature.ts";

const CREDENTIALS = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "s3cr3t", sessionToken: "token" };
const HOST = "a1b2.execute-api.eu-central-1.amazonaws.com";

const call = (path: string, body = "", method = "POST"): Outgoing => ({
  method,
  url: `https://${HOST}${path}`,
  headers: new Headers({ "content-type": "application/json", "idempotency-key": "a  b" }),
  body,
});

describe("a signed call", () => {
  test.each([
    ["POST", "/jobs", "", '{"topic":"orders","body":"ä"}'],
    ["GET", "/jobs", "from=2026-03-01T09%3A00%3A00.000Z&topic=orders", ""],
    ["DELETE", "/topics/orders/jobs/order%3A17%40x", "", ""],
  ])("%s %s has the signature that API Gateway calculates", async (method, path, query, body) => {
    const outgoing = call(`${path}${query === "" ? "" : `?${query}`}`, body, method);
    const headers = await signed(async () => CREDENTIALS, "eu-central-1")(outgoing);
    const authorization = headers.get("authorization") ?? "";
    const scope = `${headers.get("x-amz-date")?.slice(0, 8)}/eu-central-1/execute-api/aws4_request`;
    expect(authorization).toContain(`Credential=AKIDEXAMPLE/${scope}`);
    expect(authorization).toMatch(/SignedHeaders=host;idempotency-key;x-amz-date;x-amz-security-token,/);
    const sent = { method, path, query, host: HOST, headers, body };
    const signature = signatureOf(sent, { ...CREDENTIALS, region: "eu-central-1" });
    expect(authorization).toContain(`Signature=${signature}`);
    expect(headers.get("x-amz-security-token")).toBe("token");
    expect(headers.get("content-type")).toBe("application/json");
  });

  test("is signed each time with the present credentials", async () => {
    let asked = 0;
    const authorize = signed(async () => ({ ...CREDENTIALS, accessKeyId: `AKID${++asked}` }), "eu-central-1");
    await authorize(call("/jobs"));
    expect((await authorize(call("/jobs"))).get("authorization")).toContain("Credential=AKID2/");
  });

  test("is refused if there are no credentials", async () => {
    const authorize = signed(() => Promise.reject(new Error("no profile")), "eu-central-1");
    await expect(authorize(call("/jobs"))).rejects.toMatchObject({
      code: "forbidden",
      message: "the request cannot be signed, because there are no AWS credentials: no profile",
    });
  });
});

describe("the authorization of a call", () => {
  test.each(["http://localhost:3000", "http://127.0.0.1:3000", "http://[::1]:3000"])(
    "is absent at %s, unless auth is given",
    async (url) => {
      const outgoing = call("/jobs");
      expect(await authorizeBy({ url })(outgoing)).toEqual(outgoing.headers);
      const headers = await authorizeBy({ url, auth: { bearer: "t" } })(outgoing);
      expect(headers.get("authorization")).toBe("Bearer t");
      expect(outgoing.headers.has("authorization")).toBe(false);
    },
  );

  test("is a signature for API Gateway in its region, with the credentials of the environment", async () => {
    const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = process.env;
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: "AKIDHERE", AWS_SECRET_ACCESS_KEY: "s" });
    const headers = await authorizeBy({ url: `https://${HOST}`, region: "us-east-1" })(call("/jobs"));
    expect(headers.get("authorization")).toMatch(/Credential=AKIDHERE\/\d{8}\/eu-central-1\/execute-api\//);
    for (const [name, value] of Object.entries({ AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY })) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });

  test.each(["http://localhost:3000", "http://127.8.9.1", "http://[::1]:3000", "https://api.example.com"])(
    "can be a token for %s, where nobody on the network can read it",
    async (url) => {
      const headers = await authorizeBy({ url, auth: { bearer: "ey" } })(call("/jobs"));
      expect(headers.get("authorization")).toBe("Bearer ey");
    },
  );

  test("need not be private if there is nothing to keep private", () => {
    expect(() => createClient({ url: "http://api.internal", auth: "none" })).not.toThrow();
  });

  test.each(["", "se cret", "secret\nsecret", "sécret"])(
    "cannot be a token that a header cannot have: %j",
    async (token) => {
      const rule = "bearer must be a token of printable ASCII without spaces or line breaks";
      const url = "https://api.example.com";
      expect(() => createClient({ url, auth: { bearer: token } })).toThrow(new RangeError(rule));
      const authorize = authorizeBy({ url, auth: { bearer: async () => token } });
      await expect(authorize(call("/jobs"))).rejects.toThrow(new RangeError(rule));
    },
  );

  test.each([
    [
      { url: "https://api.example.com" },
      'auth must be given for api.example.com: "iam", "none" or { bearer }',
    ],
    [
      { url: "https://api.example.com", auth: "iam" },
      "region must be given to sign calls of api.example.com",
    ],
    [
      { url: "api.example.com" },
      "url must be the URL of an API with https:// or http://, such as https://api.example.com, got api.example.com",
    ],
    [{ url: "ftp://api.example.com" }, "got ftp://api.example.com"],
    [
      { url: "http://api.example.com/v1", auth: { bearer: "ey.secret" } },
      "url must begin with https:, because calls carry a token or a signature, got http://api.example.com",
    ],
    [
      { url: "http://api.example.com", auth: { bearer: () => expect.unreachable() } },
      "url must begin with https:",
    ],
    [
      { url: "http://10.0.0.7:8080", auth: "iam", region: "eu-central-1" },
      "url must begin with https:, because calls carry a token or a signature, got http://10.0.0.7:8080",
    ],
    [{ url: "http://abc.execute-api.eu-central-1.amazonaws.com" }, "url must begin with https:"],
    [{ url: "http://127.0.0.1.example.com", auth: { bearer: "a" } }, "url must begin with https:"],
  ] as const)("must be possible, or createClient throws: %j", (options, message) => {
    expect(() => createClient(options)).toThrow(message);
    expect(() => createClient(options)).toThrow(RangeError);
  });
});
