// SPDX-License-Identifier: BSD-3-Clause
// index.js - csrecover for browsers and Node: signals, recoveries and files of the WebAssembly module.
import createModule from './csrec.mjs';

const CODES = ['OK', 'ARGUMENT', 'MEMORY', 'FILE', 'FORMAT', 'DATA', 'UNSUPPORTED', 'DEVICE', 'STOPPED'];
const PRIOR = '/priors/prior-gray.npz'; // presets use it for each channel of colours, too
const AXES = { file: 0, 'channels-last': 1, 'channels-first': 2, none: 3 };
const ERROR_ROOM = 512;
const NUMBERS = 14; // of web_numbers: axes, 8 extents, channels, samples, black, white, bits
const TYPES = new Map([
  [Uint8Array, 'u1'], [Uint8ClampedArray, 'u1'], [Int8Array, 'i1'], [Uint16Array, 'u2'],
  [Int16Array, 'i2'], [Uint32Array, 'u4'], [Int32Array, 'i4'], [Float32Array, 'f4'],
  [Float64Array, 'f8'],
]);

/** A failure that the library reports: one line with the file, the field and the remedy. */
export class CsrecoverError extends Error {
  constructor(message, code) {
    super(message);
    this.name = 'CsrecoverError';
    this.code = code;
  }
}

async function bytesOf(url) {
  if (url.protocol === 'file:') {
    const { readFile } = await import('node:fs/promises');
    return new Uint8Array(await readFile(url));
  }
  const response = await fetch(url);
  if (!response.ok)
    throw new CsrecoverError(`${url}: the server answered ${response.status}; put it there`, 'FILE');
  return new Uint8Array(await response.arrayBuffer());
}

async function compile(url) {
  if (url.protocol !== 'file:' && WebAssembly.compileStreaming) {
    try {
      return await WebAssembly.compileStreaming(fetch(url));
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // a server that does not know the type
    }
  }
  return WebAssembly.compile(await bytesOf(url));
}

async function start(base) {
  let failed;
  const compiled = await compile(new URL('csrec.wasm', base)).catch((error) => {
    if (!(error instanceof WebAssembly.CompileError)) throw error;
    throw new CsrecoverError(
      'csrec.wasm: this browser lacks WebAssembly SIMD; use one of 2023 or later', 'UNSUPPORTED');
  });
  const made = createModule({
    instantiateWasm(imports, done) {
      WebAssembly.instantiate(compiled, imports).then(done, (error) => failed(error));
      return {};
    },
    print() {},
    printErr() {},
  });
  return Promise.race([made, new Promise((_, reject) => { failed = reject; })]);
}

/** Starts an instance of the module, with memory of its own. */
export async function load({ base = new URL('.', import.meta.url), priors = base } = {}) {
  const from = new URL(base, import.meta.url);
  return new Csrecover(await start(from), priors ? new URL(priors, import.meta.url) : null);
}

/** An instance of the module. Its functions are called one at a time. */
export class Csrecover {
  #m;
  #priors;

  constructor(module, priors) {
    this.#m = module;
    this.#priors = priors;
    module.FS.mkdir('/priors');
    module.FS.mkdir('/files');
    module.FS.chdir('/files');
    this.#with((room) => module._web_priors(room.text('/priors')));
  }

  get version() {
    return this.#m.UTF8ToString(this.#m._csrec_version());
  }

  /** Bytes of memory that the instance has, of which it gives none back. */
  get heap() {
    return this.#m.HEAPU8.length;
  }

  /** Reads a .npy, .npz, .csv, .png or .tif. */
  read(bytes, { name = 'data', axes = 'file', labels = false } = {}) {
    if (!(axes in AXES))
      throw new CsrecoverError(`axes: '${axes}' is none of ${Object.keys(AXES).join(', ')}`, 'ARGUMENT');
    const scan = this.#file(name, bytes, (path) => this.#with((room) => {
      const to = room.bytes(4);
      room.call('_web_read', room.text(path), AXES[axes], labels ? 1 : 0, to);
      return this.#m.HEAPU32[to >>> 2];
    }));
    return new Scan(this, scan, { name, bytes });
  }

  /** A signal of numbers [...shape, channels]; NaN, and what a mask leaves out, is not known. */
  make(data, { shape, channels = 1, mask = null, scale = [0, 0] } = {}) {
    const type = TYPES.get(data?.constructor) ?? (Array.isArray(data) ? 'f8' : null);
    if (!type) throw new CsrecoverError('data: give a typed array or an array of numbers', 'ARGUMENT');
    const entries = entriesOf(shape);
    if (!Number.isInteger(channels) || channels < 1)
      throw new CsrecoverError(`channels: ${channels} is no whole number from 1 on`, 'ARGUMENT');
    if (data.length !== entries * channels)
      throw new CsrecoverError(
        `data: has ${data.length} values where shape ${shape} of ${channels} channels has ` +
        `${entries * channels}`, 'DATA');
    if (mask && mask.length !== entries)
      throw new CsrecoverError(
        `mask: has ${mask.length} values where shape ${shape} has ${entries}`, 'DATA');
    return new Scan(this, this.#with((room) => {
      const values = room.doubles(data), to = room.bytes(4);
      const heap = this.#m.HEAPF64;
      if (mask)
        for (let i = 0; i < entries; i++)
          if (!mask[i]) heap.fill(NaN, (values >>> 3) + i * channels, (values >>> 3) + (i + 1) * channels);
      room.call('_web_make', shape.length, room.ints(shape), channels, values, room.text(type),
                scale[0], scale[1], to);
      return this.#m.HEAPU32[to >>> 2];
    }), null);
  }

  /** Where a pattern samples, as cssample draws it: 1 for each entry that is kept, else 0. */
  sample(shape, { pattern, rate, count, seed = 1 } = {}) {
    const entries = entriesOf(shape);
    const dims = shape.length;
    if ((rate === undefined) === (count === undefined))
      throw new CsrecoverError('rate, count: give one of them', 'ARGUMENT');
    if (rate !== undefined && !(rate > 0 && rate <= 1))
      throw new CsrecoverError(`rate: ${rate} is not above 0 and at most 1`, 'ARGUMENT');
    if (!Number.isInteger(seed) || seed < 0 || seed > Number.MAX_SAFE_INTEGER)
      throw new CsrecoverError(`seed: ${seed} is no whole number from 0 to 2^53 - 1`, 'ARGUMENT');
    const n = count ?? Math.max(1, roundHalfUp(rate * entries));
    return this.#with((room) => {
      const keep = room.bytes(entries);
      room.call('_web_sample', dims, room.ints(shape),
                room.text(pattern ?? (dims === 2 || dims === 3 ? 'poisson' : 'jitter')), n, seed, keep);
      return this.#m.HEAPU8.slice(keep, keep + entries);
    });
  }

  /** Fetches the prior that a recovery needs, once. */
  async prepare(scan, quality = 'balanced') {
    if (!this.#priors || quality === 'fast' || scan.shape.length !== 2) return;
    if (this.#m.FS.analyzePath(PRIOR).exists) return;
    this.#m.FS.writeFile(PRIOR, await bytesOf(new URL('prior-gray.npz', this.#priors)));
  }

  /** Recovers an array in one call: see recover. */
  async recover(data, options = {}) {
    const scan = this.make(data, options);
    try {
      return await scan.recover(options);
    } finally {
      scan.close();
    }
  }

  /** @internal */
  with(work) {
    return this.#with(work);
  }

  /** @internal */
  file(name, bytes, work) {
    return this.#file(name, bytes, work);
  }

  /** @internal */
  get module() {
    return this.#m;
  }

  // Memory of the module that lives as long as a call.
  #with(work) {
    const room = new Room(this.#m);
    try {
      return work(room);
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError)
        throw new CsrecoverError(
          `the module stopped (${error.message}); start a new one, with a smaller picture`, 'MEMORY');
      throw error;
    } finally {
      room.free();
    }
  }

  // Messages name the file as the caller does, so it is in the current folder under that name.
  #file(name, bytes, work) {
    const { FS } = this.#m;
    const path = name.replace(/^.*[/\\]/, '').replace(/^(-?)$/, '_$1').slice(-200);
    FS.writeFile(path, bytes);
    try {
      return work(path);
    } finally {
      FS.unlink(path);
    }
  }
}

// A rate of 0.5 of 3 is 2, as of llround; Math.round does the same above 0.
function roundHalfUp(x) {
  return Math.floor(x) + (x - Math.floor(x) >= 0.5 ? 1 : 0);
}

function entriesOf(shape) {
  if (!Array.isArray(shape) || shape.length < 1 || shape.length > 8 ||
      !shape.every((n) => Number.isInteger(n) && n >= 1))
    throw new CsrecoverError('shape: give 1 to 8 whole numbers from 1 on', 'ARGUMENT');
  const entries = shape.reduce((a, b) => a * b, 1);
  if (entries > 2 ** 29)
    throw new CsrecoverError(
      `shape: ${shape.join(' x ')} is more than the memory of a page; crop it, or use csrecover`, 'MEMORY');
  return entries;
}

class Room {
  #m;
  #taken = [];

  constructor(module) {
    this.#m = module;
  }

  bytes(n) {
    const at = n < 2 ** 31 ? this.#m._malloc(Math.max(n, 8)) >>> 0 : 0;
    if (!at)
      throw new CsrecoverError(
        `out of memory: ${(n / 2 ** 20).toFixed(0)} MiB more are not to be had; use a smaller picture`,
        'MEMORY');
    this.#taken.push(at);
    return at;
  }

  doubles(data) {
    const at = this.bytes(8 * data.length);
    this.#m.HEAPF64.set(data, at >>> 3);
    return at;
  }

  ints(data) {
    const at = this.bytes(4 * data.length);
    this.#m.HEAP32.set(data, at >>> 2);
    return at;
  }

  copy(data) {
    const at = this.bytes(data.length);
    this.#m.HEAPU8.set(data, at);
    return at;
  }

  text(words) {
    const n = this.#m.lengthBytesUTF8(words) + 1;
    const at = this.bytes(n);
    this.#m.stringToUTF8(words, at, n);
    return at;
  }

  // Calls a function whose last argument is a csrec_error.
  call(name, ...given) {
    const error = this.bytes(ERROR_ROOM);
    this.#m.HEAPU8[error] = 0;
    const status = this.#m[name](...given, error);
    if (!status) return;
    const code = CODES[status] ?? 'ARGUMENT';
    throw new CsrecoverError(this.#m.UTF8ToString(error) || code.toLowerCase(), code);
  }

  free() {
    for (const at of this.#taken) this.#m._free(at);
    this.#taken = [];
  }
}

/** A signal, or what is known of it. close() gives its memory back. */
export class Scan {
  #of;
  #at;
  #source;

  constructor(of, at, source) {
    this.#of = of;
    this.#at = at;
    this.#source = source;
    of.with((room) => {
      const to = room.bytes(8 * NUMBERS), m = of.module;
      m._web_numbers(at, to);
      const [dims, ...rest] = m.HEAPF64.slice(to >>> 3, (to >>> 3) + NUMBERS);
      this.shape = rest.slice(0, dims);
      [this.channels, this.samples] = rest.slice(8, 10);
      this.scale = rest[10] === rest[11] ? null : [rest[10], rest[11]];
      this.bits = rest[12];
      this.entries = entriesOf(this.shape);
      this.notes = [0, 1].map((i) => m.UTF8ToString(m._web_note(at, i))).filter((note) => note);
    });
  }

  close() {
    if (this.#at) this.#of.module._web_clear(this.#at);
    this.#at = 0;
  }

  /** All values, channels last; NaN where not known. */
  values() {
    return this.#of.with((room) => {
      const n = this.entries * this.channels, to = room.bytes(8 * n), { module } = this.#of;
      module._web_values(this.#here(), to);
      return module.HEAPF64.slice(to >>> 3, (to >>> 3) + n);
    });
  }

  /** Which entries a picture or array marks as known. */
  mask(bytes, { name = 'mask' } = {}) {
    return this.#of.file(name, bytes, (path) => this.#of.with((room) => {
      const to = room.bytes(this.entries);
      room.call('_web_mask', room.text(path), this.#here(), to);
      return this.#of.module.HEAPU8.slice(to, to + this.entries);
    }));
  }

  /** Recovers the whole signal from what is known, and kept. */
  async recover(options = {}) {
    await this.#of.prepare(this, options.quality);
    return this.#watched(options.onProgress, () => this.#of.with((room) => {
      const { module } = this.#of, n = this.entries * this.channels;
      const signal = room.bytes(8 * n), report = room.bytes(40);
      room.call('_web_recover', this.#here(), this.#keep(room, options.keep),
                optionsOf(room, module, options), signal, report);
      const words = [...module.HEAPU32.subarray(report >>> 2, (report >>> 2) + 4)].map(
        (at) => (at ? module.UTF8ToString(at) : null));
      const [seconds, samples, interrupted] = module.HEAPF64.subarray((report >>> 3) + 2, (report >>> 3) + 5);
      return {
        data: module.HEAPF64.slice(signal >>> 3, (signal >>> 3) + n),
        shape: this.shape, channels: this.channels, samples,
        method: words[0], choice: words[1], remark: words[2], outcome: words[3],
        seconds, interrupted: interrupted !== 0,
      };
    }));
  }

  /** The errors that a recovery expects of itself, and their root mean square. */
  async expect(data, options = {}) {
    await this.#of.prepare(this, options.quality);
    return this.#watched(options.onProgress, () => this.#of.with((room) => {
      const { module } = this.#of, n = this.entries * this.channels;
      const errors = room.bytes(8 * n), expected = room.bytes(8);
      room.call('_web_expect', this.#here(), this.#keep(room, options.keep),
                optionsOf(room, module, options), room.doubles(this.#signal(data)), errors, expected);
      return { errors: module.HEAPF64.slice(errors >>> 3, (errors >>> 3) + n),
               expected: module.HEAPF64[expected >>> 3] };
    }));
  }

  /** Seconds, on the machine that the library knows, and bytes that a recovery would take. */
  plan(options = {}) {
    return this.#of.with((room) => {
      const to = room.bytes(16), { module } = this.#of;
      room.call('_web_plan', this.#here(), this.#keep(room, options.keep),
                optionsOf(room, module, options), to);
      return { seconds: module.HEAPF64[to >>> 3], bytes: module.HEAPF64[(to >>> 3) + 1] };
    });
  }

  /** PSNR in dB and SSIM (NaN where there is none) of a recovery beside the truth. */
  compare(truth, data, peak = this.scale ? Math.abs(this.scale[1] - this.scale[0]) : rangeOf(truth)) {
    return this.#of.with((room) => {
      const to = room.bytes(16), { module } = this.#of;
      room.call('_web_compare', this.#here(), room.doubles(this.#signal(truth)),
                room.doubles(this.#signal(data)), peak, to);
      return { psnr: module.HEAPF64[to >>> 3], ssim: module.HEAPF64[(to >>> 3) + 1] };
    });
  }

  /** The bytes of a file of a signal of this shape, by the ending of its name. */
  write(data, name) {
    const like = this.#source ? `like-${this.#source.name.replace(/^.*[/\\]/, '')}`.slice(0, 200) : null;
    const work = () => this.#product(name, (room, path) => room.call(
      '_web_write', this.#here(), room.doubles(this.#signal(data)), room.text(path),
      like ? room.text(like) : 0));
    return like ? this.#of.file(like, this.#source.bytes, work) : work();
  }

  /** The bytes of a measurement file (.npz) of what is known, and kept, for csrecover. */
  save(keep = null) {
    return this.#product('scan.npz', (room, path) => room.call(
      '_web_save', this.#here(), this.#keep(room, keep), room.text(path)));
  }

  #product(name, work) {
    const { FS } = this.#of.module, path = name.replace(/^.*[/\\]/, '');
    try {
      this.#of.with((room) => work(room, path));
      return FS.readFile(path);
    } finally {
      if (FS.analyzePath(path).exists) FS.unlink(path);
    }
  }

  #here() {
    if (!this.#at) throw new CsrecoverError('the signal is closed; read or make it again', 'ARGUMENT');
    return this.#at;
  }

  #keep(room, keep) {
    if (!keep) return 0;
    if (keep.length !== this.entries)
      throw new CsrecoverError(
        `keep: has ${keep.length} values where shape ${this.shape} has ${this.entries}`, 'DATA');
    return room.copy(Uint8Array.from(keep, (k) => (k ? 1 : 0)));
  }

  #signal(data) {
    if (data.length === this.entries * this.channels) return data;
    throw new CsrecoverError(
      `data: has ${data.length} values where the signal has ${this.entries * this.channels}`, 'DATA');
  }

  #watched(progress, work) {
    const { module } = this.#of;
    let failure = null;
    module.progress = progress && ((stage, done, total) => {
      try {
        return progress({ stage, done, total }) === true;
      } catch (error) { // ends the recovery, and is thrown behind it
        failure = { error };
        return true;
      }
    });
    try {
      const result = work();
      if (failure) throw failure.error;
      return result;
    } finally {
      module.progress = undefined;
    }
  }
}

function optionsOf(room, module, { quality = 'balanced', sigma = NaN, range = [NaN, NaN], labels = false }) {
  const at = room.bytes(40);
  module.HEAPU32[at >>> 2] = room.text(quality);
  module.HEAPF64.set([sigma, range[0] ?? NaN, range[1] ?? NaN], (at >>> 3) + 1);
  module.HEAP32[(at >>> 2) + 8] = labels ? 1 : 0;
  return at;
}

function rangeOf(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return high - low;
}

let shared = null;

// One instance for the functions below, made anew after a failure that stopped it.
async function instance() {
  shared ??= load();
  try {
    return await shared;
  } catch (error) {
    shared = null;
    throw error;
  }
}

/** Recovers an array, of which NaN and what mask leaves out is not known, by the shared instance. */
export async function recover(data, options = {}) {
  const one = await instance();
  try {
    return await one.recover(data, options);
  } catch (error) {
    if (error.code === 'MEMORY') shared = null;
    throw error;
  }
}

/** Where a pattern samples a signal of that shape, by the shared instance. */
export async function sample(shape, options) {
  return (await instance()).sample(shape, options);
}
