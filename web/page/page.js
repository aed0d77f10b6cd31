// SPDX-License-Identifier: BSD-3-Clause
// page.js - the page: a picture, what is missing of it, its recovery.
import { ask, cancel, Cancelled } from './client.js';
import { attachBrush } from './paint.js';
import { decode, isDecoded } from './picture.js';
import { endOf, errorsOf, heatOf, pixelsOf, tonesOf } from './view.js';

const $ = (id) => document.getElementById(id);

/** What the page shows; tests read it. */
export const state = {
  name: '', shape: null, channels: 0, values: null, scale: null, tones: null, known: null, keep: null,
  whole: false, result: null, errors: null, busy: false, slower: 4,
};
const layers = {}; // canvases: samples, truth, result, errors

// ------------------------------------------------------------------ messages

function say(error) {
  const text = !error || error instanceof Cancelled ? '' : error.message ?? String(error);
  $('message').textContent = text;
  $('message').hidden = !text;
}

function note(lines) {
  const itemOf = (line) => Object.assign(document.createElement('li'), { textContent: line });
  $('notes').replaceChildren(...lines.map(itemOf));
}

function count(n) {
  return n.toLocaleString('en').replaceAll(',', '\u202f');
}

// Buttons that need the worker rest while it works; one task at a time.
async function busy(work) {
  if (state.busy) return;
  state.busy = true;
  say(null);
  update();
  try {
    await work();
  } catch (error) {
    say(error);
  } finally {
    state.busy = false;
    $('progress-row').hidden = true;
    update();
  }
}

function update() {
  const open = state.values !== null;
  for (const id of ['choose', 'run', 'look']) $(id).hidden = !open;
  $('numbers').hidden = !state.result;
  $('cancel').hidden = !state.busy || $('progress-row').hidden;
  for (const id of ['recover', 'draw', 'reset', 'mask', 'expect', 'example', 'file', 'quality'])
    $(id).disabled = state.busy;
  for (const button of $('downloads').children) button.disabled = state.busy;
  $('right').disabled = !state.result;
  if (open) tellShare();
}

function tellShare() {
  const entries = state.keep.length;
  let kept = 0;
  for (let i = 0; i < entries; i++) kept += state.keep[i] & state.known[i];
  $('share').textContent = `${count(kept)} of ${count(entries)} pixels are known ` +
    `(${(100 * kept / entries).toPrecision(3)} %), ${count(entries - kept)} are missing.`;
}

// ------------------------------------------------------------------ layers

function layer(name, rgba) {
  const [height, width] = state.shape;
  const canvas = (layers[name] ??= document.createElement('canvas'));
  canvas.width = width;
  canvas.height = height;
  canvas.getContext('2d').putImageData(new ImageData(rgba, width, height), 0, 0);
}

let asked = false;

function draw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    $('legend').hidden = $('right').value !== 'errors';
    const canvas = $('picture'), context = canvas.getContext('2d'), { width, height } = canvas;
    const at = state.result ? Math.round(width * $('divide').value / 1000) : width;
    context.clearRect(0, 0, width, height);
    const put = (from, x, w) => w > 0 && context.drawImage(from, x, 0, w, height, x, 0, w, height);
    put(layers[$('left').value], 0, at);
    put(layers[$('right').value] ?? layers.result, at, width - at);
    if (at > 0 && at < width) {
      context.fillStyle = '#fff8';
      context.fillRect(at, 0, Math.max(1, width / 512), height);
    }
  });
}

function showSamples() {
  layer('samples', pixelsOf(state.values, state.channels, state.tones, state.keep));
  draw();
}

// What is missing has changed: what was recovered is of other samples.
function forget() {
  state.result = state.errors = null;
  $('divide').value = 1000;
  $('legend').textContent = '';
  $('estimate').textContent = '';
}

function setKeep(keep) {
  forget();
  state.keep = keep;
  showSamples();
  update();
}

// ------------------------------------------------------------------ 1. picture

async function open(name, bytes) {
  if (isDecoded(bytes)) {
    const pixels = await decode(bytes, name);
    return show(name, await ask('open', { name, pixels }));
  }
  show(name, await ask('open', { name, bytes }));
}

function show(name, read) {
  const { shape, channels, values } = read, entries = values.length / channels;
  const known = new Uint8Array(entries);
  let all = true;
  for (let i = 0; i < entries; i++)
    for (let c = 0; c < channels; c++) {
      if (Number.isNaN(values[i * channels + c])) all = false;
      else known[i] = 1;
    }
  Object.assign(state, { name, shape, channels, values, scale: read.scale, known, whole: all,
                         tones: tonesOf(values, read.scale) });
  Object.assign($('picture'), { width: shape[1], height: shape[0] });
  $('picture').classList.toggle('large', shape[1] < 400);
  $('size').max = Math.max(8, Math.round(Math.min(...shape) / 2));
  layer('truth', pixelsOf(values, channels, state.tones));
  const plain = channels === 1 || channels === 3;
  note([`${name}: ${shape[1]} x ${shape[0]} pixels${channels > 1 ? `, ${channels} channels` : ''}` +
        `${read.scale ? '' : `, values ${state.tones.map((v) => Number(v.toPrecision(6))).join(' to ')}`}.`,
        ...(plain ? [] : ['The first channel is shown; all are recovered.']), ...read.notes]);
  const ending = name.match(/\.(tiff?|csv|npz)$/i)?.[1].toLowerCase();
  const same = document.querySelector('[data-save=same]');
  same.hidden = !ending || ending === 'npz';
  same.textContent = `As it came (.${ending})`;
  setKeep(known.slice());
}

async function openFile(file) {
  if (!file) return;
  await busy(async () => {
    if (file.size > 2 ** 30)
      throw new Error(`${file.name}: is larger than 1 GiB; make it smaller, or use csrecover`);
    await open(file.name, new Uint8Array(await file.arrayBuffer()));
  });
}

// ------------------------------------------------------------------ 2. what is missing

function paint(x, y, radius) {
  if (state.busy) return;
  if (state.result) {
    forget();
    update();
  }
  const [height, width] = state.shape, keeps = document.querySelector('[name=brush]:checked').value === 'keep';
  const context = layers.samples.getContext('2d');
  const left = Math.max(0, Math.floor(x - radius)), right = Math.min(width - 1, Math.ceil(x + radius));
  const top = Math.max(0, Math.floor(y - radius)), bottom = Math.min(height - 1, Math.ceil(y + radius));
  if (left > right || top > bottom) return;
  for (let row = top; row <= bottom; row++)
    for (let column = left; column <= right; column++)
      if (Math.hypot(column + 0.5 - x, row + 0.5 - y) <= Math.max(radius, 0.71))
        state.keep[row * width + column] = keeps ? state.known[row * width + column] : 0;
  const image = context.getImageData(left, top, right - left + 1, bottom - top + 1);
  const truth = layers.truth.getContext('2d').getImageData(left, top, image.width, image.height).data;
  for (let i = 0; i < image.width * image.height; i++) {
    const kept = state.keep[(top + Math.floor(i / image.width)) * width + left + i % image.width];
    for (let c = 0; c < 4; c++) image.data[4 * i + c] = kept ? truth[4 * i + c] : 0;
  }
  context.putImageData(image, left, top);
  $('left').value = 'samples';
  draw();
}

async function drawPattern() {
  const rate = Number($('rate').value) / 100, seed = Number($('seed').value);
  if (!(rate > 0 && rate <= 1)) throw new Error('Keep: give per cent above 0 and at most 100');
  if (!Number.isInteger(seed) || seed < 0) throw new Error('Seed: give a whole number from 0 on');
  const keep = await ask('sample', { pattern: $('pattern').value, rate, seed });
  for (let i = 0; i < keep.length; i++) keep[i] &= state.known[i];
  setKeep(keep);
}

// ------------------------------------------------------------------ 3. recover

const METHODS = { frames: 'thresholded cosines', net: 'the learned prior', smooth: 'smooth interpolation' };

function watch({ stage, done, total }) {
  $('progress-row').hidden = false;
  $('cancel').hidden = false;
  if (total > 0) $('progress').value = Math.min(done / total, 1);
  else $('progress').removeAttribute('value');
  $('stage').textContent = `${stage}${total > 0 ? ` ${Math.floor(100 * Math.min(done / total, 1))} %` : ''}`;
}

// What takes its time says so; each recovery tells how fast this machine is.
async function plan(options) {
  const { seconds } = await ask('plan', options);
  const expected = seconds * state.slower;
  const time = expected > 90 ? `${Math.round(expected / 60)} min` : `${Math.round(expected)} s`;
  $('estimate').textContent = expected > 3 ? `about ${time}` : '';
  return seconds;
}

function recover() {
  return busy(async () => {
    forget();
    if (state.whole && state.keep.every((k) => k))
      throw new Error('Nothing is missing: paint over something, draw a pattern or load a mask');
    const options = { keep: state.keep, quality: $('quality').value };
    watch({ stage: options.quality === 'fast' ? 'starting' : 'loading the learned prior', total: 0 });
    const planned = options.quality === 'fast' ? 0 : await plan(options), start = performance.now();
    const result = await ask('recover', { ...options, truth: state.whole ? state.values : null }, watch);
    const seconds = (performance.now() - start) / 1000;
    if (seconds > 0.2 && planned > 0) state.slower = Math.min(Math.max(result.seconds / planned, 0.2), 100);
    state.result = { ...result, ...options };
    layer('result', pixelsOf(result.data, state.channels, state.tones));
    setErrors(errorsOf(state.values, result.data, state.channels), 'Errors: recovered less original');
    if (Number.isNaN(lostError()))
      $('legend').textContent = 'The original of the missing pixels is not known; see expected errors.';
    $('divide').value = 500;
    $('right').value = 'result';
    tellResult(seconds);
    draw();
  });
}

function setErrors(errors, legend) {
  const end = endOf(errors);
  state.errors = errors;
  layer('errors', heatOf(errors, end));
  $('legend').textContent = `${legend}, from 0 (black) to ${Number(end.toPrecision(3))} (white).`;
}

// Root mean square over missing pixels of which the original is known.
function lostError() {
  const { result, errors, known } = state;
  let sum = 0, n = 0;
  for (let i = 0; i < errors.length; i++)
    if (known[i] && !result.keep[i] && !Number.isNaN(errors[i])) {
      sum += errors[i] ** 2;
      n++;
    }
  return n ? Math.sqrt(sum / n) : NaN;
}

function tellResult(seconds) {
  const { result } = state, [low, high] = state.scale ?? state.tones;
  const entries = result.data.length / result.channels, lost = lostError();
  const share = (part, whole) => `${(100 * part / whole).toPrecision(3)} %`;
  const named = METHODS[result.method] ? `${result.method} (${METHODS[result.method]})` : result.method;
  const rows = [
    ['Known', `${count(result.samples)} of ${count(entries)} pixels, ${share(result.samples, entries)}`],
    ['Method', result.choice ? `${named}: ${result.choice}` : named],
    ['Time', `${seconds.toPrecision(3)} s, ${Math.round(result.heap / 2 ** 20)} MiB`]];
  const { psnr, ssim } = result.compared ?? {};
  if (Number.isFinite(psnr)) rows.push(['PSNR', `${psnr.toFixed(2)} dB`]);
  if (Number.isFinite(ssim)) rows.push(['SSIM', ssim.toFixed(4)]);
  if (lost >= 0)
    rows.push(['Error of missing pixels',
               `${Number(lost.toPrecision(3))} root mean square, ${share(lost, Math.abs(high - low))} of the range`]);
  if (result.remark) rows.push(['Note', result.remark]);
  setTable(rows);
}

function setTable(rows) {
  $('table').replaceChildren(...rows.map(([head, text]) => {
    const row = document.createElement('tr'), th = document.createElement('th'), td = document.createElement('td');
    th.scope = 'row';
    th.textContent = head;
    td.textContent = text;
    row.append(th, td);
    return row;
  }));
}

function expect() {
  return busy(async () => {
    const { keep, quality, data } = state.result;
    watch({ stage: 'leaving out samples', total: 0 });
    const { errors, expected } = await ask('expect', { keep, quality, data }, watch);
    const zero = new Float64Array(errors.length);
    setErrors(errorsOf(zero, errors, state.channels), 'Expected errors');
    $('right').value = 'errors';
    const row = $('table').insertRow(), head = document.createElement('th');
    head.scope = 'row';
    head.textContent = 'Expected error';
    row.append(head);
    row.insertCell().textContent = Number.isFinite(expected)
      ? `${Number(expected.toPrecision(3))} root mean square` : 'not known: too few samples';
    draw();
  });
}

// ------------------------------------------------------------------ download

function download(bytes, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([bytes]));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

function save(what) {
  return busy(async () => {
    const stem = state.name.replace(/\.[^.]*$/, '') || 'picture', { data, keep } = state.result;
    const ending = what === 'same' ? state.name.match(/\.[^.]*$/)[0].toLowerCase() : `.${what}`;
    if (what === 'scan') download(await ask('save', { keep }), `${stem}-samples.npz`);
    else if (what === 'mask') {
      const marked = keep.map((k, i) => k & state.known[i]);
      download(await ask('writeMask', { keep: marked, name: 'mask.png' }), `${stem}-mask.png`);
    } else download(await ask('write', { data, name: `recovered${ending}` }), `${stem}-recovered${ending}`);
  });
}

// ------------------------------------------------------------------ start

$('file').addEventListener('change', ({ target }) => openFile(target.files[0]).then(() => { target.value = ''; }));
$('example').addEventListener('click', () => busy(async () => {
  const response = await fetch('example.png');
  if (!response.ok) throw new Error(`example.png: the server answered ${response.status}; put it beside the page`);
  await open('example.png', new Uint8Array(await response.arrayBuffer()));
  await drawPattern(); // an example has gaps
}));
$('mask').addEventListener('change', ({ target }) => busy(async () => {
  const file = target.files[0];
  if (!file) return;
  const keep = await ask('mask', { name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) });
  for (let i = 0; i < keep.length; i++) keep[i] &= state.known[i];
  setKeep(keep);
}).then(() => { target.value = ''; }));
$('draw').addEventListener('click', () => busy(drawPattern));
$('reset').addEventListener('click', () => setKeep(state.known.slice()));
$('recover').addEventListener('click', recover);
$('cancel').addEventListener('click', cancel);
$('expect').addEventListener('click', expect);
$('downloads').addEventListener('click', ({ target }) => target.dataset.save && save(target.dataset.save));
for (const id of ['left', 'right', 'divide']) $(id).addEventListener('input', draw);
$('size').addEventListener('input', () => { $('size-text').textContent = `${$('size').value} px`; });
$('size-text').textContent = `${$('size').value} px`;
attachBrush($('picture'), $('cursor'), () => Number($('size').value), paint);
$('picture').addEventListener('pointerup', update);
$('picture').addEventListener('keyup', update);

for (const name of ['dragover', 'dragleave', 'drop'])
  document.addEventListener(name, (event) => {
    event.preventDefault();
    document.body.classList.toggle('drop', name === 'dragover');
  });
document.addEventListener('drop', ({ dataTransfer }) => openFile(dataTransfer.files[0]));

busy(async () => {
  const { version } = await ask('start');
  $('version').textContent = `csrecover ${version}`;
  document.body.dataset.ready = 'yes';
  $('start').hidden = true;
});
