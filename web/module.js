// SPDX-License-Identifier: BSD-3-Clause
// module.js - what the module calls in JavaScript: the progress of a recovery.
mergeInto(LibraryManager.library, {
  web_progress: function (stage, done, total) {
    return Module['progress'] && Module['progress'](UTF8ToString(stage), done, total) ? 1 : 0;
  },
});
