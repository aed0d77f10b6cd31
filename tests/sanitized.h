/* SPDX-License-Identifier: BSD-3-Clause */
/* sanitized.h - SANITIZED: 1 where a sanitizer has an allocator, address space and threads of its
 * own, so that the memory of the process says nothing about the library; else 0. */
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* Of so many random cases those that do where each takes five to ten times as long: every change
 * draws others. */
#define SANITIZED_SHARE(cases) (SANITIZED ? ((cases) + 2) / 3 : (cases))
