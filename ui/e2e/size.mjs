// The bundle as it travels: everything in dist, compressed.
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const LIMIT_BYTES = 250_000;
const folder = new URL("../dist/", import.meta.url);

let total = 0;
for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
  if (!/\.\w+$/.test(name)) continue;
  const size = gzipSync(readFileSync(new URL(name, folder)), { level: 9 }).length;
  total += size;
  console.log(`${String(size).padStart(8)}  ${name}`);
}
console.log(`${String(total).padStart(8)}  of ${LIMIT_BYTES} bytes`);
if (total > LIMIT_BYTES) process.exit(1);
