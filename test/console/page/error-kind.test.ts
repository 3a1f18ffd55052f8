import { describe, expect, test } from "vitest";
import { kindOf } from "../../../console/page/error-kind.ts";

/** Errors that real programs tell. Those of one line are of one kind, which the first column names. */
const KINDS: readonly (readonly [name: string, ...errors: string[]])[] = [
  // Node
  ["connect ECONNREFUSED …", "connect ECONNREFUSED 127.0.0.1:4510", "connect ECONNREFUSED ::1:5432"],
  [
    "connect ETIMEDOUT …",
    "connect ETIMEDOUT 10.0.7.255:80",
    "connect ETIMEDOUT [2001:db8::ff00:42:8329]:443",
  ],
  ["getaddrinfo ENOTFOUND api.shop.example", "getaddrinfo ENOTFOUND api.shop.example"],
  [
    "Cannot read properties of undefined (reading 'price') (close-order.ts:…)",
    "Cannot read properties of undefined (reading 'price') (close-order.ts:12)",
    "Cannot read properties of undefined (reading 'price') (close-order.ts:140:7)",
  ],
  [
    "Cannot read properties of undefined (reading 'id') (close-order.ts:…)",
    "Cannot read properties of undefined (reading 'id') (close-order.ts:12)",
  ],
  [
    "can't read the user's order …",
    "can't read the user's order 17",
    "can't read the user's order 01M8BD7WEG00AQB55CQQHVN949",
  ],
  [
    "Stream closed with error code NGHTTP2_REFUSED_STREAM",
    "Stream closed with error code NGHTTP2_REFUSED_STREAM",
  ],
  // HTTP clients and webhooks
  ["Request failed with status code 503", "Request failed with status code 503"],
  ["Request failed with status code 404", "Request failed with status code 404"],
  ["timeout of … exceeded", "timeout of 5000ms exceeded", "timeout of 3 s exceeded"],
  [
    "HTTP 503: no worker for order …",
    "HTTP 503: no worker for order 17",
    "HTTP 503: no worker for order 404",
  ],
  ["HTTP 500: no worker for order …", "HTTP 500: no worker for order 503"],
  [
    'HTTP 402: {"error":{"code":"card_declined","message":"Your card was declined.","charge":…}}',
    'HTTP 402: {"error":{"code":"card_declined","message":"Your card was declined.","charge":"ch_3NfFK2eZvKYlo2C0"}}',
    'HTTP 402: {"error":{"code":"card_declined","message":"Your card was declined.","charge":"ch_1Pab77eZvKYlo2Xy"}}',
  ],
  [
    'HTTP 402: {"error":{"code":"expired_card","message":"Your card has expired.","charge":…}}',
    'HTTP 402: {"error":{"code":"expired_card","message":"Your card has expired.","charge":"ch_3NfFK2eZvKYlo2C0"}}',
  ],
  [
    "503 Server Error: Service Unavailable for url: https://api.shop.example/v1/orders/…",
    "503 Server Error: Service Unavailable for url: https://api.shop.example/v1/orders/99812?token=ab",
    "503 Server Error: Service Unavailable for url: https://api.shop.example/v1/orders/17?token=cd&page=2",
  ],
  ["got 503 from the shop", "got 503 from the shop"],
  ["got … items", "got 412 items", "got 17 items"],
  ["the shop answered 404 in …", "the shop answered 404 in 512 ms", "the shop answered 404 in 1.2 s"],
  // Stripe
  ["No such customer: cus_…", "No such customer: cus_NffrFeUfNV2Hib", "No such customer: cus_NffrFeUfNVHibx"],
  [
    "card of customer cus_… was declined",
    ...["ofw4", "aoy963", "4kz927", "bde567"].map((id) => `card of customer cus_${id} was declined`),
  ],
  [
    "charge ch_… of order-… failed",
    "charge ch_3NfFK2eZvKYlo2C0 of order-17 failed",
    "charge ch_1a2b3c of order-9999 failed",
  ],
  // Python
  [
    "ValueError: no price for order …",
    'Traceback (most recent call last):\n  File "/app/close.py", line 12, in close\n    raise\nValueError: no price for order 17',
    'Traceback (most recent call last):\n  File "/app/close.py", line 99, in close\nValueError: no price for order 18',
  ],
  ["KeyError: 'price'", "KeyError: 'price'"],
  ["'NoneType' object has no attribute 'price'", "'NoneType' object has no attribute 'price'"],
  ["[Errno 111] Connection refused", "[Errno 111] Connection refused"],
  [
    "[Errno 2] No such file or directory: …",
    "[Errno 2] No such file or directory: '/tmp/x/17'",
    "[Errno 2] No such file or directory: '/tmp/y/18.pdf'",
  ],
  [
    "HTTPSConnectionPool(host='api.shop.example', port=…): Read timed out. (read timeout=…)",
    "HTTPSConnectionPool(host='api.shop.example', port=443): Read timed out. (read timeout=10)",
    "HTTPSConnectionPool(host='api.shop.example', port=8443): Read timed out. (read timeout=2.5)",
  ],
  // Databases
  [
    'duplicate key value violates unique constraint "orders_pkey"',
    'duplicate key value violates unique constraint "orders_pkey"',
  ],
  [
    'duplicate key value violates unique constraint "orders_email_key" Detail: Key (email)=… already exists.',
    'duplicate key value violates unique constraint "orders_email_key" Detail: Key (email)=(ann@shop.example) already exists.',
    'duplicate key value violates unique constraint "orders_email_key" Detail: Key (email)=(bob) already exists.',
  ],
  [
    "deadlock detected: Process … waits for ShareLock on transaction …; blocked by process ….",
    "deadlock detected: Process 4711 waits for ShareLock on transaction 998; blocked by process 42.",
    "deadlock detected: Process 1 waits for ShareLock on transaction 2; blocked by process 3.",
  ],
  [
    "invalid input syntax for type integer: …",
    'invalid input syntax for type integer: "abc"',
    'invalid input syntax for type integer: "x y"',
  ],
  ["SQLSTATE[23505]: Unique violation", "SQLSTATE[23505]: Unique violation"],
  ["SQLSTATE[40P01]: Deadlock detected", "SQLSTATE[40P01]: Deadlock detected"],
  [
    "E11000 duplicate key error dup key: { _id: … }",
    'E11000 duplicate key error dup key: { _id: "abc" }',
    "E11000 duplicate key error dup key: { _id: 17 }",
  ],
  ["ORA-00001: unique constraint (SHOP.PK) violated", "ORA-00001: unique constraint (SHOP.PK) violated"],
  [
    "P2002 Unique constraint failed on the fields: (`email`)",
    "P2002 Unique constraint failed on the fields: (`email`)",
  ],
  [
    "(…, 'Lock wait timeout exceeded; try restarting transaction')",
    "(1205, 'Lock wait timeout exceeded; try restarting transaction')",
  ],
  // The AWS SDK
  [
    "User: arn:aws:sts::…:assumed-role/shop/close is not authorized to perform: dynamodb:PutItem",
    "User: arn:aws:sts::123456789012:assumed-role/shop/close is not authorized to perform: dynamodb:PutItem",
    "User: arn:aws:sts::210987654321:assumed-role/shop/close is not authorized to perform: dynamodb:PutItem",
  ],
  [
    "The specified key in S3 does not exist. RequestId: …",
    "The specified key in S3 does not exist. RequestId: 4442587FB7D0A2F9",
    "The specified key in S3 does not exist. RequestId: 6f1c2f7e-3d0b-4a52-9a3f-0f8a7d1c2b3a",
  ],
  [
    "… Task timed out after …",
    "2026-11-26T10:00:00.000Z 6f1c2f7e-3d0b-4a52-9a3f-0f8a7d1c2b3a Task timed out after 3.00 seconds",
    "2026-11-27T11:30:00.123Z 0b8a8a1c-1d0b-4a52-9a3f-0f8a7d1c2b3b Task timed out after 30.03 seconds",
  ],
  // Values of all kinds
  [
    "expired at …",
    "expired at 2026-11-26T10:00:00.123Z",
    "expired at Thu, 26 Nov 2026 10:00:00 GMT",
    "expired at Thu Nov 26 2026 10:00:00 GMT+0000 (Coordinated Universal Time)",
    "expired at 10:03",
  ],
  [
    "the amount … is above …",
    "the amount $12.50 is above $3",
    "the amount €1,299.00 is above €1,000",
    "the amount 12,50 € is above 3 €",
  ],
  ["after …", "after 1 h 30 min", "after 45 s", "after 2m30s", "after 1500ms"],
  [
    "no object at …",
    "no object at 0x7f3a2b",
    "no object at deadbeef12",
    "no object at 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  ],
  ["session … is gone", "session V1StGXR8_Z5jdHi6B-myT is gone", "session 5f4dcc3b-aa is gone"],
  ["seat … is taken", "seat A17 is taken", "seat B3 is taken"],
  ["invoice INV-… of user…", "invoice INV-10023 of user17", "invoice INV-7 of user3"],
  ["orders … failed", "orders 1, 2, 3 failed", "orders 17 failed"],
  ["order … not found", "order 404 not found", "order 123 not found"],
  ["worker exited with code 137", "worker exited with code 137"],
  ["worker exited with code 1", "worker exited with code 1"],
  ["invalid code …", "invalid code 884213", "invalid code 1234"],
];

test.each(KINDS)("%s", (name, ...errors) => {
  expect(new Set(errors.map((error) => kindOf(error)))).toEqual(new Set([name]));
});

test("a kind is named again as itself, so that its name is stable", () => {
  for (const [name] of KINDS) expect(kindOf(name)).toBe(name);
});

describe("a long error", () => {
  test("that the API has cut has the name of its kind", () => {
    const errorOf = (id: string) => `HTTP 500: no order ${id} ${"in this shop ".repeat(30)}`.slice(0, 255);
    expect(kindOf(errorOf("1"))).toBe(kindOf(errorOf("6f1c2f7e-3d0b-4a52-9a3f-0f8a7d1c2b3a")));
  });

  test("whose quoted value was cut tells nothing of the value", () => {
    expect(kindOf('no user "ann of the shop in the stre')).toBe("no user …");
  });

  test("takes no long time, whatever it says", () => {
    // µs of CPU time, which does not depend on other programs.
    const begun = process.threadCpuUsage();
    for (const part of [
      "a1-",
      "1:",
      "'a ",
      "error with status code ",
      "Aa1/",
      "aError: ",
      "A_",
      "eu-",
      '"ab ',
    ])
      kindOf(part.repeat(500));
    expect(process.threadCpuUsage(begun).user).toBeLessThan(500_000);
  });
});
