/* SPDX-License-Identifier: GPL-2.0 */
/* Common to all fuzzers: libFuzzer's entry point, and the tool's surroundings. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdlib.h>

#include "outside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* FUZZ_H */
