import solid from "vite-plugin-solid";
import { defineConfig } from "vitest/config";

// During development, STEPSCOPE_URL is the address that `stepscope open --no-open` prints, with its token.
const printed = new URL(process.env.STEPSCOPE_URL ?? "http://127.0.0.1:8899/");
const headers = { authorization: `Bearer ${printed.searchParams.get("token") ?? ""}`, origin: printed.origin };

const proxy = { "/api": { target: printed.origin, changeOrigin: true, headers } };
// As strict as the server's own, so that what it refuses is noticed before it is embedded.
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export default defineConfig({
  base: "./",
  plugins: [solid()],
  server: { proxy },
  preview: { proxy, headers: { "content-security-policy": policy } },
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
});
