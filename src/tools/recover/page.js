// SPDX-License-Identifier: BSD-3-Clause
// page.js - the script of the report page: pictures that are magnified together and compared, values
// under the pointer, downloads. The part of the pictures that is seen has its corner at (x, y) and
// the extent 1 / zoom, as shares of the whole; style variables hand it to all pictures at once.
(function () {
  'use strict';
  const by = id => document.getElementById(id);
  const all = (selector, of) => [...(of || document).querySelectorAll(selector)];
  const clamp = (v, most) => Math.max(0, Math.min(v, most));
  const make = (name, text) => {
    const made = document.createElement(name);
    made.textContent = text || '';
    return made;
  };
  const list = (to, texts) => to.replaceChildren(...texts.map(text => make('span', text)));

  // Browsers also tell of a pointer at rest, when what is below it changes, as by keys.
  let rest = '';
  const moved = e => {
    const was = rest;
    rest = e.clientX + ' ' + e.clientY;
    return e.type !== 'pointermove' || rest !== was;
  };

  // ---------------------------------------------------------------- values

  // The samples of a PNG of 16 bits without alpha (RFC 2083): width, height, channels, values. Not
  // by a canvas, which has 8 bits, and which some browsers alter.
  async function decode(address) {
    const text = atob(address.slice(22)), bytes = Uint8Array.from(text, c => c.charCodeAt(0));
    const view = new DataView(bytes.buffer), parts = [];
    for (let at = 8; bytes.length > at; at += 12 + view.getUint32(at))
      if (text.slice(at + 4, at + 8) === 'IDAT')
        parts.push(bytes.subarray(at + 8, at + 8 + view.getUint32(at)));
    const stream = new Blob(parts).stream().pipeThrough(new DecompressionStream('deflate'));
    const raw = new Uint8Array(await new Response(stream).arrayBuffer());
    const width = view.getUint32(16), height = view.getUint32(20);
    const channels = bytes[25] === 2 ? 3 : 1, size = 2 * channels, row = width * size;
    const out = new Uint8Array(height * row), values = new Uint16Array(height * width * channels);
    for (let y = 0; height > y; y++) unfilter(raw, y * (row + 1), out, y * row, row, size);
    for (let k = 0; values.length > k; k++) values[k] = out[2 * k] * 256 + out[2 * k + 1];
    return { width, height, channels, values };
  }
  function unfilter(raw, from, out, to, row, size) {
    const kind = raw[from], first = to === 0;
    for (let k = 0; row > k; k++) {
      const a = k >= size ? out[to + k - size] : 0, b = first ? 0 : out[to + k - row];
      const c = first || size > k ? 0 : out[to + k - row - size];
      out[to + k] = raw[from + 1 + k] + [0, a, b, a + b >> 1, paeth(a, b, c)][kind];
    }
  }
  function paeth(a, b, c) {
    const p = a + b - c, to = v => Math.abs(p - v);
    return to(b) >= to(a) ? (to(c) >= to(a) ? a : c) : to(c) >= to(b) ? b : c;
  }
  const planes = {};
  async function load(data) {
    const low = Number(data.dataset.low), step = Number(data.dataset.step);
    const plane = await decode(data.value);
    plane.value = k => plane.values[k] ? low + (plane.values[k] - 1) * step : NaN;
    plane.step = step;
    plane.digits = Math.ceil(-Math.log10(step));
    planes[data.closest('figure').id] = plane;
  }
  const number = (v, digits) => String(Number(digits > 6 || -15 > digits ? v.toPrecision(5) : v.toFixed(clamp(digits, 6))));

  // ---------------------------------------------------------------- pictures

  function start() {
    const pictures = by('pictures'), compare = by('compare'), shown = by('recovery').querySelector('img');
    const width = Number(shown.getAttribute('width')), height = Number(shown.getAttribute('height'));
    const factor = Number(pictures.dataset.factor), style = pictures.style;
    let zoom = 1, x = 0, y = 0, point = null, drag = null;
    function show() {
      x = clamp(x, 1 - 1 / zoom);
      y = clamp(y, 1 - 1 / zoom);
      style.setProperty('--zoom', zoom);
      style.setProperty('--x', x);
      style.setProperty('--y', y);
      pictures.classList.toggle('zoomed', zoom > 1);
      by('zoom').textContent = zoom + ' \u00d7';
    }
    // (u, v): the point of the frame that stays where it is.
    function magnify(times, u, v) {
      const next = Math.min(Math.max(zoom * times, 1), 64);
      x += u / zoom - u / next;
      y += v / zoom - v / next;
      zoom = next;
      show();
    }
    // What the page knows of a pixel, which all pictures mark.
    function tell(u, v) {
      point = [clamp(u, width - 1), clamp(v, height - 1)];
      style.setProperty('--px', (point[0] + 0.5) / width);
      style.setProperty('--py', (point[1] + 0.5) / height);
      pictures.classList.add('pointed');
      const at = name => {
        const plane = planes[name], k = plane ? (point[1] * width + point[0]) * plane.channels : 0;
        return plane ? [...Array(plane.channels).keys()].map(c => plane.value(k + c)) : null;
      };
      const words = (name, values) =>
        values.map(v => isNaN(v) ? 'not known' : number(v, planes[name].digits)).join(', ');
      const [column, row] = point.map(k => k * factor), before = pictures.dataset.plane;
      const sample = at('samples'), own = at('recovery'), truth = at('reference'), expected = at('expected');
      const says = [before ? 'at [' + before + row + ', ' + column + ']' : 'row ' + row + ', column ' + column];
      if (factor > 1) says.push('mean of ' + factor + ' x ' + factor);
      if (own) says.push('recovered ' + words('recovery', own));
      if (sample) says.push(sample.every(isNaN) ? 'not sampled' : 'sample ' + words('samples', sample));
      if (truth) says.push('reference ' + words('reference', truth),
        'error ' + words('recovery', own.map((v, c) => v - truth[c])));
      if (expected) says.push('expected error ' + words('expected', expected));
      list(by('values'), says);
    }
    // The pixel comes into sight.
    function step(du, dv) {
      const [column, row] = point || [width / 2 | 0, height / 2 | 0];
      tell(column + du, row + dv);
      const u = (point[0] + 0.5) / width, v = (point[1] + 0.5) / height;
      x = clamp(Math.min(Math.max(x, u - 0.95 / zoom), u - 0.05 / zoom), 1);
      y = clamp(Math.min(Math.max(y, v - 0.95 / zoom), v - 0.05 / zoom), 1);
      show();
    }
    function cut(percent) {
      by('cut').value = percent;
      compare.style.setProperty('--cut', percent + '%');
    }
    function watch(frame) {
      const sides = compare.contains(frame);
      const place = e => {
        const box = frame.getBoundingClientRect();
        return [clamp((e.clientX - box.left) / box.width, 1), clamp((e.clientY - box.top) / box.height, 1)];
      };
      const near = u => frame.clientWidth * Math.abs(u - by('cut').value / 100) > 24;
      frame.tabIndex = 0;
      frame.setAttribute('role', 'group');
      frame.setAttribute('aria-label', 'Picture: arrow keys tell values, plus and minus magnify');
      frame.ondragstart = e => e.preventDefault();
      frame.onpointerdown = e => {
        const at = place(e), line = sides ? zoom === 1 || !near(at[0]) : false;
        drag = { at, line };
        frame.setPointerCapture(e.pointerId);
        if (line) cut(100 * at[0]);
      };
      frame.onpointermove = e => {
        const at = place(e);
        if (!moved(e)) return;
        tell(Math.floor(width * (x + at[0] / zoom)), Math.floor(height * (y + at[1] / zoom)));
        if (!drag) return;
        if (drag.line) return cut(100 * at[0]);
        x += (drag.at[0] - at[0]) / zoom;
        y += (drag.at[1] - at[1]) / zoom;
        drag.at = at;
        show();
      };
      frame.onclick = frame.onpointermove;
      frame.onpointerup = frame.onpointercancel = () => { drag = null; };
      frame.ondblclick = e => magnify(2, ...place(e));
      frame.onkeydown = e => {
        const far = e.shiftKey ? 10 : 1;
        const way = { ArrowLeft: [-far, 0], ArrowRight: [far, 0], ArrowUp: [0, -far], ArrowDown: [0, far] }[e.key];
        const times = { '+': 2, '-': 0.5 }[e.key];
        const [u, v] = point ? [(point[0] + 0.5) / width, (point[1] + 0.5) / height] : [x + 0.5 / zoom, y + 0.5 / zoom];
        if (times) magnify(times, clamp((u - x) * zoom, 1), clamp((v - y) * zoom, 1));
        if (!way) return;
        step(...way);
        e.preventDefault();
      };
    }
    by('in').onclick = () => magnify(2, 0.5, 0.5);
    by('out').onclick = () => magnify(0.5, 0.5, 0.5);
    by('whole').onclick = () => magnify(0, 0, 0);
    const frame = compare.querySelector('.frame'), left = by('left');
    const copy = id => by(id).querySelector('img').cloneNode();
    const part = name => {
      const made = make('div');
      made.className = name;
      return made;
    };
    const over = part('over');
    over.append(copy('recovery'));
    all('figure[data-look]').forEach(figure => left.append(new Option(figure.querySelector('b').textContent, figure.id)));
    left.onchange = () => frame.replaceChildren(copy(left.value), over, part('line'));
    left.selectedIndex = left.options.length - 1;
    if (left.options.length) left.onchange();
    frame.style.cssText = by('recovery').querySelector('.frame').style.cssText;
    by('cut').oninput = e => cut(e.target.value);
    all('.frame').forEach(watch);
    by('tools').hidden = false;
    compare.hidden = left.options.length === 0;
    const worst = by('worst');
    if (worst) {
      const [row, column, side] = ['row', 'column', 'side'].map(name => worst.dataset[name] / factor);
      const button = make('button', 'Show it in the pictures');
      button.type = 'button';
      button.onclick = () => {
        magnify(0, 0, 0);
        zoom = 2 ** Math.floor(clamp(Math.log2(Math.min(width, height) / side), 6));
        tell(Math.floor(column + side / 2), Math.floor(row + side / 2));
        x = (column + side / 2) / width - 0.5 / zoom;
        y = (row + side / 2) / height - 0.5 / zoom;
        show();
        (compare.hidden ? pictures : compare).scrollIntoView({ block: 'start' });
      };
      worst.after(button);
    }
    show();
  }

  // ---------------------------------------------------------------- charts

  // The points of a curve as they are drawn, beside its numbers from the table.
  function curves(figure) {
    const rows = all('tr', figure).slice(1).map(row => [...row.cells].map(cell => cell.textContent));
    return all('g g', figure.querySelector('svg')).map(group => {
      const line = group.querySelector('polyline'), name = group.dataset.name;
      const drawn = line ? [...line.points].map(p => p.x)
        : all('circle, rect', group).map(e => e.cx ? e.cx.baseVal.value : e.x.baseVal.value + e.width.baseVal.value / 2);
      return { name, drawn, rows: rows.filter(row => row[0] === name) };
    }).filter(curve => curve.drawn.length);
  }
  function read(figure) {
    const plot = figure.querySelector('.plot'), svg = plot.querySelector('svg'), lines = curves(figure);
    const out = make('output', 'Point at the chart for its values.'), box = svg.viewBox.baseVal;
    const label = figure.querySelector('tr').cells[1].textContent;
    const mark = document.createElementNS(svg.namespaceURI, 'line');
    const courses = lines.filter(curve => curve.drawn.length > 1);
    const stops = lines.reduce((a, b) => b.drawn.length > a.length ? b.drawn : a, []);
    const nearest = (list, u) => list.reduce((best, v, k) => Math.abs(list[best] - u) > Math.abs(v - u) ? k : best, 0);
    let stop = -1;
    function tell(k) {
      stop = clamp(k, stops.length - 1);
      mark.setAttribute('class', 'at');
      Object.entries({ x1: stops[stop], x2: stops[stop], y1: 40, y2: box.height - 44 }).forEach(e => mark.setAttribute(...e));
      svg.append(mark);
      // A level has one point, and holds everywhere.
      const at = lines.map(curve => curve.rows[nearest(curve.drawn, stops[stop])]);
      const own = courses.length ? at.filter((row, i) => lines[i].rows.length > 1) : at;
      const same = own.every(row => row[1] === own[0][1]);
      const says = at.map((row, i) => row[0] + ' ' + row[2] + (same || lines[i].rows.length === 1 ? '' : ' at ' + row[1]));
      list(out, same ? [label + ' ' + own[0][1]].concat(says) : says);
    }
    if (!stops.length) return;
    plot.tabIndex = 0;
    plot.setAttribute('role', 'group');
    plot.setAttribute('aria-label', 'Chart: arrow keys tell values');
    plot.onclick = plot.onpointermove = e => {
      const seen = svg.getBoundingClientRect();
      if (moved(e)) tell(nearest(stops, (e.clientX - seen.left) / seen.width * box.width));
    };
    plot.onkeydown = e => {
      const way = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
      if (!way) return;
      tell(stop + way);
      e.preventDefault();
    };
    figure.querySelector('figcaption').prepend(out);
  }

  // ---------------------------------------------------------------- downloads

  function save(name, parts, type) {
    const link = make('a'), address = URL.createObjectURL(new Blob(parts, { type }));
    link.href = address;
    link.download = by('downloads').dataset.name + '-' + name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }
  const bytes = address => Uint8Array.from(atob(address.slice(22)), c => c.charCodeAt(0));
  // NumPy's format, version 1.0.
  function npy(plane) {
    const shape = [plane.height, plane.width].concat(plane.channels > 1 ? [plane.channels] : []).join(', ');
    const text = "{'descr': '\u003cf4', 'fortran_order': False, 'shape': (" + shape + '), }';
    const head = text.padEnd(117) + '\n', values = new DataView(new ArrayBuffer(4 * plane.values.length));
    plane.values.forEach((v, k) => values.setFloat32(4 * k, plane.value(k), true));
    return [new Uint8Array([147, 78, 85, 77, 80, 89, 1, 0, head.length, 0]), head, values];
  }
  function csv(figure) {
    const quote = text => '"' + text.replaceAll('"', '""') + '"';
    return all('tr', figure).map(row => [...row.cells].map((cell, k) =>
      k === 0 || cell.tagName === 'TH' ? quote(cell.textContent) : cell.textContent).join() + '\r\n');
  }
  function offer() {
    const items = make('ul');
    items.className = 'saves';
    const item = (title, ...kinds) => {
      const li = make('li');
      li.append(make('span', title));
      kinds.forEach(([kind, act]) => {
        const button = make('button', kind);
        button.type = 'button';
        button.setAttribute('aria-label', title + ' as ' + kind);
        button.onclick = act;
        li.append(button);
      });
      items.append(li);
    };
    all('.panels figure').forEach(figure => {
      const png = ['PNG', () => save(figure.id + '.png', [bytes(figure.querySelector('img').src)], 'image/png')];
      const values = ['NPY', () => save(figure.id + '.npy', npy(planes[figure.id]), 'application/octet-stream')];
      item(figure.querySelector('b').textContent, ...(planes[figure.id] ? [png, values] : [png]));
    });
    all('figure.chart').forEach((figure, k) => item(figure.querySelector('title').textContent,
      ['CSV', () => save('chart-' + (k + 1) + '.csv', csv(figure), 'text/csv')]));
    item('Settings and numbers', ['JSON', () => save('facts.json', [by('facts').textContent + '\n'], 'application/json')]);
    const words = by('save').nextElementSibling;
    if (planes.recovery) words.append(' They are rounded to ' + number(planes.recovery.step, 9) + '.');
    words.after(items);
    by('downloads').hidden = false;
  }

  if (by('pictures')) start();
  all('figure.chart').forEach(read);
  // Without the values all else is there.
  Promise.all(all('figure data').map(load)).catch(() => {}).then(() => {
    offer();
    document.documentElement.dataset.ready = 'yes';
  });
})();
