// SPDX-License-Identifier: BSD-3-Clause
// page.test.mjs - the page in a headless Chromium: a person's clicks and strokes, and what comes of
// them beside the native tools.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before, beforeEach } from 'node:test';
import { pathToFileURL } from 'node:url';

import { findChromium, startChromium } from './chromium.mjs';
import { serve } from './serve.mjs';
import { compare, csrecover, example, fieldOf, npyOf, randomOf, readNpy, scratch, seed, site, withoutNative } from './shared.mjs';

const program = findChromium(), skip = program ? false : 'no Chromium: apt install chromium';
const { load: start } = await import(pathToFileURL(join(site, 'csrecover/index.js')));
const one = await start(), random = randomOf(seed), asked = [], logged = [];
let chromium, served, address, downloads;

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const evaluate = (expression) => chromium.evaluate(expression);
const state = (what) => evaluate(`import('./page.js').then(({ state }) => (${what}))`);
const click = (selector) => evaluate(`document.querySelector('${selector}').click()`);
const text = (id) => evaluate(`document.getElementById('${id}').textContent`);
const message = () => evaluate("document.getElementById('message').hidden ? '' : document.getElementById('message').textContent");

async function until(expression, seconds = 60) {
  const end = Date.now() + 1000 * seconds;
  while (!(await state(expression))) {
    if (Date.now() > end) throw new Error(`after ${seconds} s not: ${expression}; message: ${await message()}`);
    await wait(20);
  }
}
const idle = (seconds) => until('!state.busy', seconds);

async function load() {
  await chromium.command('Page.navigate', { url: address });
  const end = Date.now() + 30000;
  while (!(await evaluate("document.body?.dataset.ready === 'yes'"))) {
    if (Date.now() > end) throw new Error(`the page does not start: ${logged.join('; ')}`);
    await wait(10);
  }
  await idle();
}

/** Hands a file to the page: then(transfer) is what a person does with it. */
async function hand(name, bytes, then) {
  await evaluate(`(() => {
    const bytes = Uint8Array.from(atob('${Buffer.from(bytes).toString('base64')}'), (c) => c.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], ${JSON.stringify(name)}));
    ${then}
  })()`);
  await idle();
}
const drop = (name, bytes) => hand(name, bytes,
  "document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));");
const choose = (id, name, bytes) => hand(name, bytes,
  `const input = document.getElementById('${id}'); input.files = transfer.files; input.dispatchEvent(new Event('change'));`);

async function set(id, value) {
  await evaluate(`{ const e = document.getElementById('${id}'); e.value = '${value}'; e.dispatchEvent(new Event('input')); }`);
}

/** Values of an array of the page's state, exactly. */
async function values(what) {
  const words = await state(`(() => { const a = ${what}, bytes = new Uint8Array(a.buffer, a.byteOffset, a.byteLength);
    let text = ''; for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192)); return btoa(text); })()`);
  const bytes = Buffer.from(words, 'base64');
  return new Uint8Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}
const doubles = async (what) => new Float64Array((await values(what)).buffer);

async function recover(quality, seconds = 120) {
  await set('quality', quality);
  await click('#recover');
  await idle(seconds);
  assert.equal(await message(), '');
}

/** A stroke over the picture between two places, in shares of its width and height. */
async function stroke(from, to) {
  const box = await evaluate("(() => { const c = document.getElementById('picture'); c.scrollIntoView({ block: 'center' }); const { left, top, width, height } = c.getBoundingClientRect(); return { left, top, width, height }; })()");
  const mouse = (type, [u, v]) => chromium.command('Input.dispatchMouseEvent', { type, button: 'left', buttons: 1, clickCount: 1,
    x: box.left + u * box.width, y: box.top + v * box.height });
  await mouse('mousePressed', from);
  await mouse('mouseMoved', [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2]);
  await mouse('mouseMoved', to);
  await mouse('mouseReleased', to);
}

async function downloaded(selector) {
  for (const name of readdirSync(downloads)) rmSync(join(downloads, name));
  await click(selector);
  await idle();
  for (let i = 0; i < 500; i++) {
    const fresh = readdirSync(downloads).filter((name) => !name.endsWith('.crdownload'));
    if (fresh.length) return { name: fresh[0], path: join(downloads, fresh[0]) };
    await wait(20);
  }
  throw new Error(`${selector} downloaded nothing; message: ${await message()}`);
}

before(async () => {
  if (skip) return;
  served = await serve(site, 0, asked);
  address = `http://127.0.0.1:${served.port}/`;
  chromium = await startChromium(program);
  downloads = mkdtempSync(join(tmpdir(), 'csrec-web-'));
  chromium.listeners.push(({ method, params }) => {
    if (method === 'Runtime.exceptionThrown') logged.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === 'Log.entryAdded' && params.entry.level === 'error') logged.push(params.entry.text);
  });
  for (const [method, params] of [['Page.enable'], ['Runtime.enable'], ['Log.enable'],
    ['Emulation.setDeviceMetricsOverride', { width: 1200, height: 900, deviceScaleFactor: 1, mobile: false }],
    ['Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: downloads }]])
    await chromium.command(method, params);
});
after(async () => {
  await chromium?.close();
  served?.server.close();
  if (downloads) rmSync(downloads, { recursive: true, force: true });
});
beforeEach(async () => {
  if (!skip) await load();
});

test('a person paints a hole over the example, recovers it and takes the files', { skip: skip || withoutNative }, async (t) => {
  const file = scratch(t);
  await click('#example');
  await idle();
  assert.match(await text('share'), /15\u202f000 of 60\u202f000 pixels are known/); // it has gaps at once
  await click('#reset');
  await set('size', 12);
  await stroke([0.3, 0.4], [0.6, 0.5]);
  const keep = await values('state.keep'), lost = keep.filter((k) => !k).length;
  assert.ok(lost > 300 && lost < 5000, `${lost} pixels were painted over`);
  await recover('balanced');
  const scan = await downloaded('[data-save=scan]');
  csrecover(scan.path, '-o', file('out.npy'), '--quality', 'balanced', '--dtype', 'float64', '--no-sync');
  const result = await doubles('state.result.data');
  assert.deepEqual(compare(result, readNpy(file('out.npy'))), { count: 0, most: 0 });
  csrecover(scan.path, '-o', file('out.png'), '--quality', 'balanced', '--no-sync');
  const picture = await downloaded('[data-save=png]');
  assert.equal(picture.name, 'example-recovered.png');
  await drop('back.png', readFileSync(picture.path));
  const written = await doubles('state.values');
  assert.ok(written.every((v, i) => v === Math.min(Math.max(Math.round(result[i]), 0), 255)));
});

test('a pattern and a rate keep what cssample keeps, and numbers are those of csrecover', { skip: skip || withoutNative }, async (t) => {
  const file = scratch(t);
  await click('#example');
  await idle();
  await set('rate', 30);
  await set('seed', 4);
  await click('#draw');
  await idle();
  assert.match(await text('share'), /18\u202f000 of 60\u202f000 pixels are known \(30\.0 %\)/);
  await recover('fast');
  const scan = await downloaded('[data-save=scan]'), result = await doubles('state.result.data');
  const told = JSON.parse(csrecover(scan.path, '-o', file('out.npy'), '--quality', 'fast', '--dtype', 'float64', '--reference', example, '--json', '--no-sync'));
  assert.deepEqual(compare(result, readNpy(file('out.npy'))), { count: 0, most: 0 });
  const table = await text('table');
  assert.ok(table.includes(`PSNR${told.quality.psnr.toFixed(2)} dB`), `${table}, ${told.quality.psnr}`);
  assert.ok(table.includes(`SSIM${told.quality.ssim.toFixed(4)}`), `${table}, ${told.quality.ssim}`);
});

test('a run is cancelled, at once and later, and another goes on', { skip }, async () => {
  await click('#example');
  await idle();
  await set('rate', 20);
  await click('#draw');
  await idle();
  for (const delay of [0, 600]) {
    await set('quality', 'best');
    await click('#recover');
    await until("!document.getElementById('cancel').hidden");
    await wait(delay);
    await click('#cancel');
    await idle(5);
    assert.equal(await message(), '');
    assert.equal(await state('state.result === null'), true);
  }
  await recover('fast');
  await recover('fast');
  assert.ok(await state('state.result.data.length === 180000'));
});

test('.npy, CSV, TIFF and masks are dropped and recovered', { skip }, async () => {
  const shape = [40, 60], truth = fieldOf(...shape, random);
  const gaps = truth.map((v) => (random() < 0.5 ? NaN : v));
  await drop('field.npy', npyOf(gaps, shape));
  assert.deepEqual(compare(await doubles('state.values'), gaps), { count: 0, most: 0 });
  await recover('fast');
  const result = await doubles('state.result.data');
  assert.ok(result.every((v, i) => Number.isFinite(v) && (Number.isNaN(gaps[i]) || v === gaps[i])));
  await click('#expect');
  await idle();
  assert.match(await text('table'), /Expected error[\d.]+ root mean square/);

  const rows = ['x,y,value'];
  for (let i = 0; i < 600; i++) rows.push(`${(4 * random()).toFixed(6)},${(3 * random()).toFixed(6)},${random().toFixed(4)}`);
  await drop('list.csv', Buffer.from(`${rows.join('\n')}\n`));
  assert.equal(await message(), '');
  await recover('fast');
  const csv = await downloaded('[data-save=same]');
  assert.match(csv.name, /^list-recovered\.csv$/);

  const raster = one.make(gaps, { shape });
  await drop('raster.tif', raster.write(gaps, 'raster.tif'));
  assert.deepEqual(compare(await doubles('state.values'), gaps), { count: 0, most: 0 });
  const marked = Uint8Array.from({ length: gaps.length }, () => random() < 0.7);
  await choose('mask', 'mask.png', one.make(marked, { shape, scale: [0, 1] }).write(marked, 'mask.png'));
  assert.equal(await message(), '');
  assert.deepEqual([...await values('state.keep')], [...marked].map((m, i) => (m && !Number.isNaN(gaps[i]) ? 1 : 0)));
  await choose('mask', 'other.png', one.make([1, 0], { shape: [1, 2], scale: [0, 1] }).write([1, 0], 'other.png'));
  assert.match(await message(), /^other\.png: .*(shape|1 x 2)/);
  await recover('fast');
  assert.match((await downloaded('[data-save=same]')).name, /^raster-recovered\.tif$/);

  const picture = await downloaded('[data-save=npy]');
  assert.match(picture.name, /\.npy$/);
  await drop('volume.npy', npyOf(new Float64Array(24), [2, 3, 4]));
  assert.match(await message(), /^volume\.npy: .*(axes|channels)/);
  await recover('fast'); // what was open before is there still
  await drop('line.npy', npyOf(new Float64Array(24), [24]));
  assert.match(await message(), /^line\.npy: has one axis/);
  const header = npyOf(new Float64Array(1), [5000, 4000]).subarray(0, 128);
  await drop('large.npy', Buffer.concat([Buffer.from(header.toString('latin1').replace('<f8', '|u1'), 'latin1'), Buffer.alloc(20e6, 7)]));
  assert.match(await message(), /^large\.npy: 5000 x 4000 is more than the 16 million values/);
  await recover('fast');
});

test('a JPEG is decoded by the browser, gray as one channel; a single pixel is a picture', { skip }, async () => {
  for (const [style, channels] of [['#777', 1], ['#a52', 3]]) {
    const words = await evaluate(`(async () => {
      const canvas = new OffscreenCanvas(48, 32), context = canvas.getContext('2d');
      context.fillStyle = '${style}';
      context.fillRect(0, 0, 48, 32);
      const blob = await canvas.convertToBlob({ type: 'image/jpeg', quality: 0.95 });
      return btoa(String.fromCharCode(...new Uint8Array(await blob.arrayBuffer())));
    })()`);
    await drop('photo.jpg', Buffer.from(words, 'base64'));
    assert.equal(await message(), '');
    assert.deepEqual(await state('[state.shape, state.channels, state.scale]'), [[32, 48], channels, [0, 255]]);
    await click('#draw');
    await idle();
    await recover('fast');
    assert.ok((await doubles('state.result.data')).every((v, i, all) => Math.abs(v - all[i % channels]) < 3));
  }
  await drop('dot.png', one.make([7], { shape: [1, 1], scale: [0, 255] }).write([7], 'dot.png'));
  await click('#recover');
  await idle();
  assert.match(await message(), /^Nothing is missing/);
});

test('files that cannot be used are refused by a line with their name', { skip }, async () => {
  const png = readFileSync(example);
  for (const [name, bytes] of [['cut.png', png.subarray(0, 900)], ['empty.csv', Buffer.alloc(0)], ['photo.jpg', Buffer.from([255, 216, 255, 0, 1])],
    ['words.txt', Buffer.from('nothing of use\n')], ['nothing.npy', npyOf([NaN, NaN, NaN, NaN], [2, 2])]]) {
    await drop(name, bytes);
    assert.ok((await message()).startsWith(`${name}: `), `${name}: ${await message()}`);
    assert.ok(!(await message()).includes('\n'));
  }
  await click('#example');
  await idle();
  assert.equal(await message(), '');
  await state('state.keep.fill(0)');
  await click('#recover');
  await idle();
  assert.match(await message(), /no known value is kept/);
  await click('#reset');
  await click('#recover');
  await idle();
  assert.match(await message(), /^Nothing is missing: /);
  await stroke([0.2, 0.2], [0.4, 0.2]);
  await recover('fast');
});

test('keys do what the pointer does', { skip }, async () => {
  await click('#example');
  await idle();
  await click('#reset');
  await evaluate("document.getElementById('picture').focus()");
  const key = (name, code) => chromium.command('Input.dispatchKeyEvent', { type: 'keyDown', key: name, code: name, windowsVirtualKeyCode: code })
    .then(() => chromium.command('Input.dispatchKeyEvent', { type: 'keyUp', key: name, code: name, windowsVirtualKeyCode: code }));
  for (let i = 0; i < 3; i++) await key('ArrowRight', 39);
  await key('ArrowDown', 40);
  await key(' ', 32);
  const lost = await state('state.keep.filter((k) => !k).length');
  assert.ok(lost > 100, `${lost}`);
  const unnamed = await evaluate(`[...document.querySelectorAll('input, select, button, canvas')].filter((e) =>
    !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim())).map((e) => e.id)`);
  assert.deepEqual(unnamed, []);
});

test('a phone sees it without scrolling sideways, dark and light', { skip }, async () => {
  for (const [width, scheme] of [[360, 'dark'], [360, 'light'], [1200, 'dark']]) {
    await chromium.command('Emulation.setDeviceMetricsOverride', { width, height: 780, deviceScaleFactor: 2, mobile: width < 500 });
    await chromium.command('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
    await click('#example');
    await idle();
    await click('#draw');
    await idle();
    await recover('fast');
    const wide = await evaluate('document.documentElement.scrollWidth');
    assert.ok(wide <= width, `${wide} at ${width}`);
    if (process.env.CSREC_WEB_SHOTS) {
      const { data } = await chromium.command('Page.captureScreenshot', { captureBeyondViewport: true });
      writeFileSync(join(process.env.CSREC_WEB_SHOTS, `page-${width}-${scheme}.png`), Buffer.from(data, 'base64'));
    }
  }
  await chromium.command('Emulation.setDeviceMetricsOverride', { width: 1200, height: 900, deviceScaleFactor: 1, mobile: false });
});

test('nothing is asked of another machine, and nothing fails on the way', { skip }, async () => {
  assert.deepEqual(logged, []);
  assert.ok(asked.length > 5 && asked.every((path) => /^\/([\w.-]*|csrecover\/[\w.-]+)$/.test(path)), asked.join(' '));
  const names = await evaluate("performance.getEntriesByType('resource').map((e) => e.name)");
  assert.ok(names.every((name) => name.startsWith(address)), names.join(' '));
});
