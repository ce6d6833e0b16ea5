// Times how long Perfetto's trace processor (its wasm build, run by Node without a browser) takes to load a trace.
// usage: node load_perfetto.mjs FOLDER_WITH_engine_bundle.js_AND_trace_processor.wasm TRACE; prints one line of JSON.
//
// The engine is a web worker that speaks TraceProcessorRpc, a stream of length-delimited protobuf messages
// (protos/perfetto/trace_processor/trace_processor.proto of Perfetto). The few fields needed are written by hand.
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';
import {performance} from 'node:perf_hooks';

const [engineFolder, tracePath] = process.argv.slice(2);
process.on('uncaughtException', (error) => {
  console.error(error.message);
  process.exit(1);
});
const CHUNK_BYTES = 16 << 20;
const METHOD = {append: 1, finalize: 2, query: 3};
const FIELD = {sequence: 1, request: 2, fatal: 5, appendData: 101, queryArgs: 103, appendResult: 201, queryResult: 203};

// What the worker expects of a browser.
class FileRequest {
  open(_method, url) {
    this.file = path.join(engineFolder, path.basename(url));
  }
  send() {
    const bytes = fs.readFileSync(this.file);
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    this.status = 200;
  }
}
const silent = () => {};
const worker = {
  console: {log: silent, info: silent, debug: silent, warn: silent, error: console.error},
  location: {href: 'http://localhost/engine_bundle.js'},
  XMLHttpRequest: FileRequest,
  WorkerGlobalScope: function () {},
  importScripts: silent,
  crypto: globalThis.crypto,
  WebAssembly, performance, TextDecoder, TextEncoder, setTimeout, clearTimeout, URL, ArrayBuffer, DataView,
  Uint8Array, Int8Array, Uint16Array, Int16Array, Uint32Array, Int32Array, Float32Array, Float64Array,
  BigInt64Array, BigUint64Array, BigInt, Promise, Date, Math, Error, TypeError, RangeError, Function, Object, Array,
};
worker.self = worker;
worker.globalThis = worker;

function varint(number) {
  const bytes = [];
  let rest = BigInt(number);
  do {
    const low = Number(rest & 127n);
    rest >>= 7n;
    bytes.push(rest ? low | 128 : low);
  } while (rest);
  return Buffer.from(bytes);
}
const numberField = (field, number) => Buffer.concat([varint(field << 3), varint(number)]);
const bytesField = (field, bytes) => Buffer.concat([varint((field << 3) | 2), varint(bytes.length), bytes]);

function readVarint(bytes, at) {
  let [number, shift] = [0n, 0n];
  for (;;) {
    const byte = bytes[at++];
    number |= BigInt(byte & 127) << shift;
    if (!(byte & 128)) return [number, at];
    shift += 7n;
  }
}
function* fields(bytes) {
  let at = 0;
  while (at < bytes.length) {
    let tag, value;
    [tag, at] = readVarint(bytes, at);
    const [field, wire] = [Number(tag >> 3n), Number(tag & 7n)];
    if (wire === 0) {
      [value, at] = readVarint(bytes, at);
    } else {
      let length = BigInt(wire === 1 ? 8 : 4);
      if (wire === 2) [length, at] = readVarint(bytes, at);
      value = bytes.subarray(at, at + Number(length));
      at += Number(length);
    }
    yield [field, value];
  }
}

const replies = [];
const port = {postMessage: (bytes) => replies.push(Buffer.from(bytes))};
let sequence = 0;
function call(method, ...parts) {
  const message = Buffer.concat([numberField(FIELD.sequence, sequence++), numberField(FIELD.request, method), ...parts]);
  const framed = bytesField(1, message);
  port.onmessage({data: new Uint8Array(framed.buffer, framed.byteOffset, framed.length)});
  const results = [];
  for (const reply of replies.splice(0)) {
    for (const [, inner] of fields(reply)) {
      for (const [field, value] of fields(inner)) {
        if (field === FIELD.fatal) throw new Error(value.toString());
        if (field === FIELD.appendResult) {
          for (const [error, text] of fields(value)) if (error === 2) throw new Error(text.toString());
        }
        if (field === FIELD.queryResult) results.push(value);
      }
    }
  }
  return results;
}

// The first number of the first row.
function firstNumber(results) {
  for (const result of results) {
    for (const [field, value] of fields(result)) {
      if (field === 2) throw new Error(value.toString());
      if (field !== 3) continue;
      for (const [cells, packed] of fields(value)) {
        if (cells === 2) return Number(typeof packed === 'bigint' ? packed : readVarint(packed, 0)[0]);
      }
    }
  }
  throw new Error('the query gave no number');
}

vm.createContext(worker);
vm.runInContext(fs.readFileSync(path.join(engineFolder, 'engine_bundle.js'), 'utf8'), worker);
await new Promise((done) => setTimeout(done, 50));
worker.onmessage({data: port});

const file = fs.openSync(tracePath, 'r');
const chunk = Buffer.alloc(CHUNK_BYTES);
const begin = performance.now();
for (;;) {
  const length = fs.readSync(file, chunk, 0, chunk.length, null);
  if (!length) break;
  call(METHOD.append, bytesField(FIELD.appendData, chunk.subarray(0, length)));
}
call(METHOD.finalize);
const load_s = (performance.now() - begin) / 1000;

const ask = (sql) => firstNumber(call(METHOD.query, bytesField(FIELD.queryArgs, bytesField(1, Buffer.from(sql)))));
const answer = {
  events: ask('select count(*) from slice'),
  kernels: ask("select count(*) from slice where category = 'kernel'"),
  kernel_ns: ask("select coalesce(sum(dur), 0) from slice where category = 'kernel'"),
};
console.log(JSON.stringify({load_s, ...answer, peak_rss_bytes: process.resourceUsage().maxRSS * 1024}));
process.exit(0);
