// SPDX-License-Identifier: BSD-3-Clause

export type Numbers =
  | Uint8Array | Uint8ClampedArray | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array
  | Float32Array | Float64Array | number[];
export type Quality = 'fast' | 'balanced' | 'best' | 'max';
export type Code =
  | 'ARGUMENT' | 'MEMORY' | 'FILE' | 'FORMAT' | 'DATA' | 'UNSUPPORTED' | 'DEVICE' | 'STOPPED';

/** A failure that the library reports: one line with the file, the field and the remedy. */
export class CsrecoverError extends Error {
  code: Code;
}

export interface Progress {
  stage: string;
  done: number;
  /** 0: not known. */
  total: number;
}

export interface RecoverOptions {
  /** Default: balanced. All but fast fetch the learned prior for pictures, once. */
  quality?: Quality;
  /** Standard deviation of the noise, in units of the data; default: that of the file, or none. */
  sigma?: number;
  /** Bounds of the result; NaN: open. */
  range?: [number, number];
  /** Values are classes: the result has classes of the samples alone. */
  labels?: boolean;
  /** 1 for each entry that is kept, else 0; default: all that are known. */
  keep?: ArrayLike<number | boolean> | null;
  /** Called while it works; true stops it, with the best result so far. */
  onProgress?: (progress: Progress) => boolean | void;
}

export interface SignalOptions {
  /** Extents, the slowest first: [height, width]. */
  shape: number[];
  /** Values of an entry, which are last in the data; default 1. */
  channels?: number;
  /** 0 or false for each entry that is not known; NaN in the data are not, either. */
  mask?: ArrayLike<number | boolean> | null;
  /** Values of black and white, as [0, 255]; default: none, the data are numbers. */
  scale?: [number, number];
}

export interface Recovery {
  /** [...shape, channels] in C order. */
  data: Float64Array;
  shape: number[];
  channels: number;
  /** Entries that were known. */
  samples: number;
  method: string;
  /** Why the method was chosen, where the samples chose. */
  choice: string | null;
  /** What is to be known of the result. */
  remark: string | null;
  outcome: string;
  seconds: number;
  /** onProgress stopped it. */
  interrupted: boolean;
}

export interface SampleOptions {
  /** Default: poisson of two and three axes, else jitter. */
  pattern?: 'uniform' | 'poisson' | 'jitter';
  /** Share of the entries, above 0 and at most 1; or count. */
  rate?: number;
  count?: number;
  /** Default 1. */
  seed?: number;
}

export interface ReadOptions {
  /** The file's name, for messages. */
  name?: string;
  /** Which axis of an array has channels; default: as the file says. */
  axes?: 'file' | 'channels-last' | 'channels-first' | 'none';
  labels?: boolean;
}

/** A signal, or what is known of it. */
export class Scan {
  private constructor();
  readonly shape: number[];
  readonly channels: number;
  readonly entries: number;
  /** Entries that are known. */
  readonly samples: number;
  /** Values of black and white. */
  readonly scale: [number, number] | null;
  /** Of a picture; 0: numbers. */
  readonly bits: number;
  /** What else is in the file, or was left open. */
  readonly notes: string[];
  /** All values, channels last; NaN where not known. */
  values(): Float64Array;
  /** Which entries a picture or array marks: 1 where it is not 0. */
  mask(bytes: Uint8Array, options?: { name?: string }): Uint8Array;
  recover(options?: RecoverOptions): Promise<Recovery>;
  /** The errors that a recovery expects of itself, and their root mean square. */
  expect(data: Float64Array, options?: RecoverOptions): Promise<{ errors: Float64Array; expected: number }>;
  /** Seconds, on the machine whose rates the library has, and bytes that a recovery would take. */
  plan(options?: RecoverOptions): { seconds: number; bytes: number };
  /** PSNR in dB and SSIM of a recovery beside the truth. */
  compare(truth: ArrayLike<number>, data: ArrayLike<number>, peak?: number): { psnr: number; ssim: number };
  /** A file of a signal of this shape, by the ending: .png, .npy, .tif, .csv. */
  write(data: ArrayLike<number>, name: string): Uint8Array;
  /** A measurement file (.npz) for csrecover. */
  save(keep?: ArrayLike<number | boolean> | null): Uint8Array;
  /** Gives its memory back. */
  close(): void;
}

/** An instance of the module, with memory of its own. Its functions run one at a time. */
export class Csrecover {
  private constructor();
  readonly version: string;
  /** Bytes of memory that the instance has. */
  readonly heap: number;
  read(bytes: Uint8Array, options?: ReadOptions): Scan;
  make(data: Numbers, options: SignalOptions): Scan;
  sample(shape: number[], options: SampleOptions): Uint8Array;
  recover(data: Numbers, options: SignalOptions & RecoverOptions): Promise<Recovery>;
  /** Fetches what a recovery of that quality needs. */
  prepare(scan: Scan, quality?: Quality): Promise<void>;
}

export interface LoadOptions {
  /** Folder of csrec.wasm; default: that of this file. */
  base?: string | URL;
  /** Folder of prior-gray.npz; null: recover without it. */
  priors?: string | URL | null;
}

export function load(options?: LoadOptions): Promise<Csrecover>;
/** Recovers an array by a shared instance, on the calling thread: in a page, call it in a worker. */
export function recover(data: Numbers, options: SignalOptions & RecoverOptions): Promise<Recovery>;
/** Where a pattern samples a signal of that shape, as cssample does: 1 for each entry that is kept. */
export function sample(shape: number[], options: SampleOptions): Promise<Uint8Array>;
