/* SPDX-License-Identifier: GPL-2.0 */
/* What is common to the fuzzers: libFuzzer's one function, and ours. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdlib.h>

#include "outside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* FUZZ_H */
