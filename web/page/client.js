// SPDX-License-Identifier: BSD-3-Clause
// client.js - requests to the worker. To cancel is to end it: the next request starts a new one, to
// which the signal is given again.

let worker = null, number = 0, opened = null;
const waiting = new Map();

export class Cancelled extends Error {}

function begin() {
  worker = new Worker(new URL('worker.js', import.meta.url), { type: 'module' });
  worker.onmessage = ({ data: { id, result, error, progress } }) => {
    const request = waiting.get(id);
    if (!request) return;
    if (progress) {
      request.tell?.(progress);
      return;
    }
    waiting.delete(id);
    if (!error) request.resolve(result);
    else request.reject(Object.assign(new Error(error.message), { code: error.code }));
    if (error?.code === 'MEMORY') end(); // what is left of the memory is in pieces
  };
  worker.onerror = (event) => {
    const failed = new Error(event.message ? `the worker failed: ${event.message}`
      : 'the worker cannot start; serve the page from a web server, as python3 -m http.server');
    for (const request of waiting.values()) request.reject(failed);
    end();
  };
}

function end() {
  worker?.terminate();
  worker = null;
  waiting.clear();
}

function post(what, given, tell) {
  const id = ++number;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject, tell });
    worker.postMessage({ id, what, ...given });
  });
}

/** Asks the worker; tell is called with its progress. */
export async function ask(what, given = {}, tell = null) {
  if (!worker) {
    begin();
    if (opened && what !== 'open') await post('open', opened);
  }
  const result = await post(what, given, tell);
  if (what === 'open') opened = given;
  return result;
}

/** Ends what is running. */
export function cancel() {
  for (const request of waiting.values()) request.reject(new Cancelled('cancelled'));
  end();
}
