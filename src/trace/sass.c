/* Decoding memory instructions; see sass.h. */
#include "trace/sass.h"

#include <string.h>

#include "trace/words.h"

static unsigned field(const uint64_t words[2], unsigned first, unsigned width)
{
    return (unsigned)(words[first / 64] >> first % 64 & ((1u << width) - 1));
}

/* By bits 0 to 8; bits 9 to 11 are the form of the operands. */
static const struct {
    unsigned family;
    const char *opcode, *operation, *memory;
} families[] = {
    {0x160, "TEX", "texture", "global"},
    {0x163, "TLD4", "texture", "global"},
    {0x166, "TLD", "texture", "global"},
    {0x16c, "TXD", "texture", "global"},
    {0x0bb, "ULDC", "constant", "constant"}, /* until sm_90 */
    {0x182, "LDC", "constant", "constant"},
    {0x1ac, "LDCU", "constant", "constant"}, /* from sm_100 on */
    {0x180, "LD", "load", "generic"},
    {0x181, "LDG", "load", "global"},
    {0x183, "LDL", "load", "local"},
    {0x185, "ST", "store", "generic"},
    {0x186, "STG", "store", "global"},
    {0x187, "STL", "store", "local"},
    {0x18a, "ATOM", "atomic", "generic"},
    {0x18b, "ATOM.CAS", "atomic", "generic"},
    {0x18e, "RED", "reduction", "global"},
    {0x18f, "CCTL", "prefetch", "global"},
    {0x1a3, "ATOMG", "atomic", "global"}, /* floating point, from sm_90 on */
    {0x1a6, "REDG", "reduction", "global"},
    {0x1a8, "ATOMG", "atomic", "global"},
    {0x1a9, "ATOMG.CAS", "atomic", "global"},
    {0x1ae, "LDGSTS", "async_copy", "global"},
    {0x199, "SULD", "surface", "global"},
    {0x19d, "SUST", "surface", "global"},
    {0x1b4, "UTMALDG", "tensor_copy", "global"},
    {0x1b5, "UTMASTG", "tensor_copy", "global"},
    {0x1b8, "UTMAPF", "prefetch", "global"},
    {0x1ba, "UBLKCP", "bulk_copy", "global"},
    {0x1bb, "UBLKRED", "bulk_reduction", "global"},
    {0x1bc, "UBLKPF", "prefetch", "global"},
};

/*
 * Bits 87 to 89 of CCTL: what it does. Fences of the device and acquires end with the last one; of
 * the two between, applypriority and discard, only the line's place in L2 changes.
 */
enum { PREFETCH_L1 = 0, PREFETCH_L2 = 1, EMPTY_L1 = 4 };

/* How strongly an access is ordered, and so which cache may answer it. */
enum strength { WEAK, CONSTANT, STRONG_CTA, STRONG_GPU, STRONG_SYSTEM, UNKNOWN };

/* Bits 77 to 80. */
static enum strength strength_of(unsigned bits, unsigned architecture)
{
    static const struct {
        unsigned turing, ampere; /* sm_75; sm_80 and later */
        enum strength strength;
    } codes[] = {
        {7, 0, WEAK},        {3, 4, CONSTANT},        {8, 5, STRONG_CTA},
        {10, 7, STRONG_GPU}, {11, 10, STRONG_SYSTEM},
    };

    for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (bits == (architecture < 80 ? codes[i].turing : codes[i].ampere))
            return codes[i].strength;
    return UNKNOWN;
}

/* Bits 84 to 86: what eviction is to prefer. 1 is the default. */
static const char *operator_of(enum strength strength, unsigned eviction)
{
    static const char *const weak[8] = {
        "cs", "ca", "evict_last", "lu", "evict_unchanged", "no_allocate", "", ""};

    switch (strength) {
    case WEAK:
        return weak[eviction];
    case CONSTANT:
        return eviction == 5 ? "nc.no_allocate" : "nc";
    case STRONG_CTA:
        return "ca";
    case STRONG_GPU:
        return "cg";
    case STRONG_SYSTEM:
        return "cv";
    default:
        return "";
    }
}

static void decode_load(const uint64_t words[2], unsigned architecture, struct pb_sass *sass)
{
    enum strength strength = strength_of(field(words, 77, 4), architecture);

    sass->cache_operator = operator_of(strength, field(words, 84, 3));
    sass->bypasses_l1 = strength == STRONG_GPU || strength == STRONG_SYSTEM;
}

static void decode_cache_control(const uint64_t words[2], struct pb_sass *sass)
{
    unsigned action = field(words, 87, 3);

    sass->opcode = action == EMPTY_L1      ? "CCTL.IVALL"
                   : action == PREFETCH_L1 ? "CCTL.PF1"
                   : action == PREFETCH_L2 ? "CCTL.PF2"
                                           : "CCTL";
    sass->operation = action == EMPTY_L1                               ? "empty_l1"
                      : action == PREFETCH_L1 || action == PREFETCH_L2 ? "prefetch"
                                                                       : "";
}

/* How much L2 is to fetch where it misses: a hint of loads and copies, from sm_80 on. */
static void decode_fetch(const uint64_t words[2], unsigned architecture, struct pb_sass *sass)
{
    static const char *const loads[4] = {"LDG", "LDG.LTC64B", "LDG.LTC128B", "LDG.LTC256B"};
    static const char *const copies[4] = {"LDGSTS", "LDGSTS.LTC64B", "LDGSTS.LTC128B",
                                          "LDGSTS.LTC256B"};

    if (architecture < 80)
        return;
    if (strcmp(sass->opcode, "LDG") == 0)
        sass->opcode = loads[field(words, 68, 2)];
    else if (strcmp(sass->opcode, "LDGSTS") == 0)
        sass->opcode = copies[field(words, architecture < 100 ? 71 : 72, 2)];
}

/* What leaves out all there is of it: an instruction that is no access of memory. */
static void set_none(struct pb_sass *sass)
{
    *sass = (struct pb_sass){"", "", "", "", 0, false, 0};
}

/* Bits 73 and 74 of bulk copies and reductions: is their target, their source shared memory? */
static void decode_bulk(const uint64_t words[2], struct pb_sass *sass)
{
    bool is_copy = strcmp(sass->operation, "bulk_copy") == 0;
    bool reads_shared = field(words, 74, 1) != 0;

    if (reads_shared && field(words, 73, 1) != 0) {
        set_none(sass);
    } else if (is_copy && reads_shared) {
        sass->opcode = "UBLKCP.G.S";
        sass->operation = "bulk_store";
    }
    sass->bypasses_l1 = strcmp(sass->operation, "bulk_copy") == 0;
}

/*
 * Of constants only loads by an index are named, whose address is not in the code: bits 24 to 31
 * are its register, a uniform one of ULDC and LDCU; 255: none.
 */
static void decode_constant(const uint64_t words[2], unsigned architecture, struct pb_sass *sass)
{
    static const struct {
        unsigned operation;
        bool is_late, is_early; /* from sm_100 on; before */
    } forms[] = {{0xb82, true, true}, {0xabb, false, true}, {0x7ac, true, false}};

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (forms[i].operation == field(words, 0, 12) && field(words, 24, 8) != 0xff &&
            (architecture < 100 ? forms[i].is_early : forms[i].is_late))
            return;
    set_none(sass);
}

static uint32_t needs_of(const struct pb_sass *sass)
{
    static const struct {
        const char *operation;
        uint32_t needs;
    } kinds[] = {
        {"bulk_store", PB_RECORDS_BULK_STORES}, {"bulk_reduction", PB_RECORDS_BULK_REDUCTIONS},
        {"texture", PB_RECORDS_NEVER},          {"surface", PB_RECORDS_NEVER},
        {"tensor_copy", PB_RECORDS_NEVER},      {"constant", PB_RECORDS_NEVER},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(sass->operation, kinds[i].operation) == 0)
            return kinds[i].needs;
    if (strcmp(sass->operation, "prefetch") != 0)
        return 0;
    return strncmp(sass->opcode, "CCTL", 4) == 0 ? PB_RECORDS_PREFETCHES : PB_RECORDS_NEVER;
}

struct pb_sass pb_sass_decode(const unsigned char instruction[PB_SASS_BYTES], unsigned architecture)
{
    static const uint32_t sizes[8] = {1, 1, 2, 2, 4, 8, 16, 0};
    struct pb_sass sass = {"", "", "", "", 0, false, 0};
    uint64_t words[2];

    memcpy(words, instruction, sizeof(words));
    for (unsigned i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        if (families[i].family != field(words, 0, 9))
            continue;
        sass.opcode = families[i].opcode;
        sass.operation = families[i].operation;
        sass.memory = families[i].memory;
    }
    if (strcmp(sass.operation, "load") == 0 || strcmp(sass.operation, "store") == 0) {
        sass.size = sizes[field(words, 73, 3)];
        if (strcmp(sass.memory, "local") == 0)
            sass.cache_operator = "ca";
        else
            decode_load(words, architecture, &sass);
    } else if (strcmp(sass.operation, "async_copy") == 0) {
        sass.bypasses_l1 = field(words, 81, 1) == 0;
        sass.cache_operator = sass.bypasses_l1 ? "cg" : "ca";
    } else if (strncmp(sass.operation, "bulk_", 5) == 0) {
        decode_bulk(words, &sass);
    } else if (strcmp(sass.operation, "constant") == 0) {
        decode_constant(words, architecture, &sass);
    } else if (strcmp(sass.operation, "tensor_copy") == 0 ||
               strcmp(sass.operation, "atomic") == 0) {
        sass.bypasses_l1 = true;
    }
    if (strcmp(sass.operation, "store") == 0)
        sass.bypasses_l1 = false;
    if (strcmp(sass.opcode, "CCTL") == 0)
        decode_cache_control(words, &sass);
    decode_fetch(words, architecture, &sass);
    sass.needs = needs_of(&sass);
    return sass;
}
