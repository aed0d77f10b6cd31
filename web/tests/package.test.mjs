// SPDX-License-Identifier: BSD-3-Clause
// package.test.mjs - the package in Node: results have the bits of the native tools, files come back,
// mistakes are told with their remedy.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { pathToFileURL } from 'node:url';

import { compare, csrecover, cssample, example, fieldOf, npyOf, randomOf, readNpy, scratch, seed, site,
  withoutNative } from './shared.mjs';

const { CsrecoverError, load, recover, sample } = await import(pathToFileURL(join(site, 'csrecover/index.js')));
const one = await load();
const random = randomOf(seed);
const native = { skip: withoutNative };
const isRefused = (code, text) => (error) => {
  assert.ok(error instanceof CsrecoverError, String(error));
  assert.equal(error.code, code, error.message);
  assert.match(error.message, text);
  return true;
};

test('patterns are those of cssample', native, (t) => {
  const file = scratch(t), shape = [31 + Math.floor(40 * random()), 17 + Math.floor(60 * random())];
  writeFileSync(file('field.npy'), npyOf(fieldOf(...shape, random), shape));
  for (const pattern of ['uniform', 'poisson', 'jitter'])
    for (const rate of [0.02, 0.25, 0.777]) {
      const drawn = Math.floor(1e6 * random());
      cssample(file('field.npy'), '-m', file('mask.npy'), '-r', `${rate}`, '-p', pattern, '-s', `${drawn}`, '--no-sync');
      const mask = one.read(readFileSync(file('mask.npy')), { name: 'mask.npy', axes: 'none' }).values();
      const keep = one.sample(shape, { pattern, rate, seed: drawn });
      assert.deepEqual([...keep], [...mask], `${pattern} ${rate} of ${shape}, seed ${drawn}`);
    }
});

test('recoveries have the bits of csrecover in plain C', native, async (t) => {
  const file = scratch(t), picture = one.read(readFileSync(example), { name: 'example.png' });
  cssample(example, '-o', file('scan.npz'), '-r', '0.2', '-s', '3', '--no-sync');
  const keep = one.sample(picture.shape, { rate: 0.2, seed: 3 });
  for (const quality of ['fast', 'balanced']) {
    csrecover(file('scan.npz'), '-o', file('out.npy'), '--quality', quality, '--dtype', 'float64', '--no-sync');
    const { data } = await picture.recover({ keep, quality });
    assert.deepEqual(compare(data, readNpy(file('out.npy'))), { count: 0, most: 0 }, quality);
  }
  picture.close();
});

// Of volumes the C libraries round the cosines of the transform differently: 1e-14 of the range.
test('fields with NaN and series have the bits of csrecover, volumes its values', native, async (t) => {
  const file = scratch(t);
  for (const [shape, rate, most] of [[[45, 70], 0.4, 0], [[400], 0.3, 0], [[9, 20, 24], 0.35, 2e-12]]) {
    const n = shape.reduce((a, b) => a * b), values = fieldOf(n / shape.at(-1), shape.at(-1), random);
    for (let i = 0; i < n; i++) if (random() > rate) values[i] = NaN;
    writeFileSync(file('gaps.npy'), npyOf(values, shape));
    csrecover(file('gaps.npy'), '-o', file('out.npy'), '--quality', 'fast', '--dtype', 'float64', '--no-sync');
    const { data } = await recover(values, { shape, quality: 'fast' });
    const difference = compare(data, readNpy(file('out.npy')));
    assert.ok(difference.most <= most, `${shape}: ${difference.most}`);
  }
});

test('samples saved for csrecover give the same recovery', native, async (t) => {
  const file = scratch(t), shape = [40, 52], values = fieldOf(...shape, random);
  const scan = one.make(values, { shape }), keep = one.sample(shape, { rate: 0.3, seed: 5 });
  writeFileSync(file('scan.npz'), scan.save(keep));
  csrecover(file('scan.npz'), '-o', file('out.npy'), '--quality', 'balanced', '--dtype', 'float64', '--no-sync');
  const { data } = await scan.recover({ keep });
  assert.deepEqual(compare(data, readNpy(file('out.npy'))), { count: 0, most: 0 });
  scan.close();
});

test('a recovery keeps its samples and finds the rest', async () => {
  const shape = [48, 64], truth = fieldOf(...shape, random), mask = await sample(shape, { rate: 0.4 });
  const { data, samples, method } = await recover(truth, { shape, mask, quality: 'fast' });
  let worst = 0, sum = 0;
  for (let i = 0; i < data.length; i++) {
    if (mask[i]) worst = Math.max(worst, Math.abs(data[i] - truth[i]));
    sum += (data[i] - truth[i]) ** 2;
  }
  assert.equal(samples, Math.round(0.4 * data.length));
  assert.equal(worst, 0);
  assert.ok(Math.sqrt(sum / data.length) < 10, `${Math.sqrt(sum / data.length)} by ${method}`);
});

test('files come back as they were', () => {
  const shape = [19, 23], values = fieldOf(...shape, random).map(Math.round);
  const scan = one.make(Uint8Array.from(values), { shape, scale: [0, 255] });
  for (const name of ['a.png', 'a.npy', 'a.tif', 'a.csv']) {
    const bytes = scan.write(values, name), back = one.read(bytes, { name });
    assert.deepEqual(back.shape, shape, name);
    assert.deepEqual([...back.values()], [...values], name);
    back.close();
  }
  scan.close();
});

test('what a file marks as unknown is NaN', () => {
  const picture = one.read(readFileSync(example), { name: 'example.png' });
  assert.deepEqual([picture.shape, picture.channels, picture.scale, picture.bits], [[200, 300], 3, [0, 255], 8]);
  const gaps = one.read(npyOf([1, NaN, 3, 4, 5, 6], [2, 3]), { name: 'gaps.npy' });
  assert.deepEqual([...gaps.values()], [1, NaN, 3, 4, 5, 6]);
  assert.equal(gaps.samples, 5);
  const list = one.read(Buffer.from('row,col,value\n0,0,1\n1,2,7\n'), { name: 'list.csv' });
  assert.deepEqual(list.shape, [2, 3]);
  assert.deepEqual([...list.values()], [1, NaN, NaN, NaN, NaN, 7]);
});

test('progress is told, and may stop a recovery', async () => {
  const shape = [128, 128], truth = fieldOf(...shape, random), told = [];
  const scan = one.make(truth, { shape, mask: one.sample(shape, { rate: 0.3 }) });
  await scan.recover({ onProgress: (progress) => { told.push(progress); } });
  assert.ok(told.length > 2 && told.every(({ stage, done, total }) => stage && done >= 0 && total >= 0));
  const stopped = await scan.recover({ quality: 'best', onProgress: () => true });
  assert.equal(stopped.interrupted, true);
  await assert.rejects(scan.recover({ onProgress: () => { throw new Error('mine'); } }), /mine/);
  const again = await scan.recover({ quality: 'fast' });
  assert.equal(again.interrupted, false);
  scan.close();
});

test('expected errors are 0 at samples and cover the rest', async () => {
  const shape = [64, 64], truth = fieldOf(...shape, random), keep = one.sample(shape, { rate: 0.3 });
  const scan = one.make(truth, { shape });
  const { data } = await scan.recover({ keep, quality: 'fast' });
  const { errors, expected } = await scan.expect(data, { keep, quality: 'fast' });
  assert.ok(expected > 0);
  assert.ok(errors.every((e, i) => (keep[i] ? e === 0 : e >= 0)));
  assert.equal(scan.compare(truth, truth).psnr, Infinity);
  scan.close();
});

test('mistakes name the field and the remedy', async () => {
  const shape = [8, 8], values = new Float64Array(64).fill(1), scan = one.make(values, { shape });
  const nothing = new Uint8Array(64);
  await assert.rejects(scan.recover({ keep: nothing }), isRefused('DATA', /no known value is kept/));
  await assert.rejects(scan.recover({ keep: [1, 2] }), isRefused('DATA', /keep: has 2 values/));
  await assert.rejects(scan.recover({ quality: 'good' }), isRefused('ARGUMENT', /fast, balanced, best, max/));
  await assert.rejects(recover(values, { shape: [9, 8] }), isRefused('DATA', /data: has 64 values/));
  await assert.rejects(recover(values, { shape: [8, -8] }), isRefused('ARGUMENT', /shape/));
  await assert.rejects(recover(values, { shape: [2 ** 20, 2 ** 20] }), isRefused('MEMORY', /crop it/));
  await assert.rejects(recover('text', { shape }), isRefused('ARGUMENT', /typed array/));
  assert.throws(() => one.sample(shape, { rate: 1.5 }), isRefused('ARGUMENT', /rate/));
  assert.throws(() => one.sample(shape, { pattern: 'lines', rate: 0.5 }), isRefused('ARGUMENT', /uniform, poisson, jitter/));
  assert.throws(() => one.sample(shape, { count: 65 }), isRefused('ARGUMENT', /count|positions/));
  scan.close();
  assert.throws(() => scan.values(), isRefused('ARGUMENT', /closed/));
  await assert.rejects(recover(new Float64Array(64).fill(NaN), { shape }), isRefused('DATA', /no known value/));
  await assert.rejects(recover(values.map(() => Infinity), { shape }), isRefused('DATA', /finite|infinite|inf/));
});

test('broken files are refused by a line with their name', () => {
  const png = readFileSync(example), broken = [
    ['cut.png', png.subarray(0, 1000)], ['empty.npy', Buffer.alloc(0)], ['text.npy', Buffer.from('\x93NUMPY nonsense')],
    ['noise.png', Buffer.from(Array.from({ length: 500 }, () => 256 * random()))], ['words.csv', Buffer.from('a,b\nc,d\n')],
    ['huge.npy', npyOf([1], [1]).fill("(100000, 100000, 10)".padEnd(24), 60, 84)], ['none.npy', npyOf([NaN, NaN], [1, 2])]];
  for (const [name, bytes] of broken)
    assert.throws(() => one.read(bytes, { name }).close(), (error) => {
      assert.ok(error instanceof CsrecoverError && error.message.includes(name), `${name}: ${error}`);
      return true;
    }, name);
  assert.equal(one.read(png, { name: '-' }).samples, 60000);
  assert.equal(one.read(png, { name: '../../up/name.png' }).samples, 60000);
});

test('the smallest signals, and all known', async () => {
  for (const shape of [[1, 1], [1, 7], [7, 1], [1], [2, 2]]) {
    const n = shape.reduce((a, b) => a * b), values = Float64Array.from({ length: n }, (_, i) => i);
    for (const quality of ['fast', 'balanced']) {
      const { data } = await one.recover(values, { shape, quality });
      assert.deepEqual([...data], [...values], `${shape} ${quality}`);
    }
  }
});

test('many recoveries in one instance need no more memory', async () => {
  const shape = [64, 64], truth = fieldOf(...shape, random);
  const run = () => one.recover(truth, { shape, mask: one.sample(shape, { rate: 0.3 }), quality: 'fast' });
  for (let i = 0; i < 3; i++) await run();
  const before = one.heap;
  for (let i = 0; i < 20; i++) await run();
  assert.equal(one.heap, before);
});
