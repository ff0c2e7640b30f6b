/* The figures of the populations, and draws from them. people.c makes users of them. Draws call no
 * libm, as all of kvgen's (rng.h). */
#include "kvgen/people/habits.h"

#include <assert.h>
#include <string.h>

#include "lib/base/units.h"

const uint8_t habits_share[HABITS_POINTS] = {0,  10, 20, 30, 40, 50, 60,
                                             70, 80, 90, 95, 98, 99, 100};

/* Mooncake: the first 4000 requests of its conversation trace (Qin et al., FAST 2025). ShareGPT:
 * 150 prompts of sharegpt_gpt4 in LLMServingSim. Agents: 60 sessions of kv-cache-tester, of which
 * five have sub-agents. */
const struct habit_figure habits[HABITS] = {
    [HABIT_CHAT_SYSTEM] = {"chat.system",
                           "tokens",
                           "Mooncake: the least input; all begin with the same block",
                           false,
                           {891}},
    [HABIT_CHAT_FIRST] = {"chat.first",
                          "tokens",
                          "half Mooncake: first prompts below 8192 tokens, without chat.system; "
                          "half ShareGPT: prompts",
                          true,
                          {1, 28, 298, 408, 587, 753, 1007, 1355, 2899, 4692, 5728, 6654, 6973,
                           7258}},
    [HABIT_CHAT_NEXT] = {"chat.next",
                         "tokens",
                         "Mooncake: tokens that a further turn adds to its conversation",
                         true,
                         {1, 3, 9, 12, 20, 30, 66, 267, 1916, 4737, 7611, 13258, 19014, 31126}},
    [HABIT_CHAT_ANSWER] = {"chat.answer",
                           "tokens",
                           "Mooncake: answers in these conversations",
                           true,
                           {1, 26, 93, 203, 286, 346, 395, 445, 507, 592, 667, 817, 1024, 2000}},
    [HABIT_CHAT_SECOND] = {"chat.second",
                           "ppm",
                           "conversations with a second turn: half Mooncake (0.284), half ShareGPT "
                           "(0.73, Gao et al., CachedAttention, 2024)",
                           false,
                           {506860}},
    [HABIT_CHAT_FURTHER] = {"chat.further",
                            "ppm",
                            "Mooncake: later turns after which the conversation went on",
                            false,
                            {464000}},
    [HABIT_CHAT_PAUSE] = {"chat.pause",
                          "ms",
                          "Mooncake: times between turns, without answer and reading",
                          true,
                          {1000, 1000, 1000, 2340, 14302, 32228, 59723, 100650, 171474, 282728,
                           415365, 505021, 586215, 803415}},
    [HABIT_DOCUMENTS_COUNT] =
        {"documents.count",
         "documents",
         "QASPER (Dasigi et al., 2021): papers that questions are asked about",
         false,
         {1585}},
    [HABIT_DOCUMENTS_LENGTH] =
        {"documents.length",
         "tokens",
         "Mooncake: first prompts of 8192 tokens and more, without chat.system",
         true,
         {7317, 8496, 10058, 11598, 13891, 15974, 18565, 23189, 28325, 44830, 71047, 94100, 111987,
          121998}},
    [HABIT_DOCUMENTS_QUESTION] = {"documents.question",
                                  "tokens",
                                  "Mooncake: tokens that a further turn adds to these",
                                  true,
                                  {1, 5, 8, 11, 16, 23, 45, 128, 824, 4593, 11154, 18870, 23111,
                                   91467}},
    [HABIT_DOCUMENTS_ANSWER] = {"documents.answer",
                                "tokens",
                                "Mooncake: answers in these conversations",
                                true,
                                {1, 21, 104, 236, 315, 370, 414, 459, 520, 624, 740, 990, 1294,
                                 2000}},
    [HABIT_DOCUMENTS_FURTHER] =
        {"documents.further",
         "ppm",
         "QASPER: 5049 questions about 1585 papers: after a question, another one",
         false,
         {686076}},
    [HABIT_DOCUMENTS_PAUSE] = {"documents.pause",
                               "ms",
                               "Mooncake: times between turns, without answer and reading",
                               true,
                               {1000, 1000, 1000, 11325, 34171, 51038, 79379, 127289, 225159,
                                356513, 470761, 599693, 683910, 921562}},
    [HABIT_CODE_SYSTEM] =
        {"code.system", "tokens", "agents: tools and system prompt, median", false, {15041}},
    [HABIT_CODE_FIRST] = {"code.first",
                          "tokens",
                          "agents: first requests, without tools and system prompt",
                          true,
                          {142, 532, 3374, 4104, 4475, 5183, 53025, 71367, 95894, 124835, 131072,
                           131072, 131072, 131072}},
    [HABIT_CODE_GROWTH] = {"code.growth",
                           "tokens",
                           "agents: tokens that a step adds, without the answer before it",
                           true,
                           {1, 1, 20, 49, 148, 265, 441, 805, 1555, 3531, 6540, 11605, 16891,
                            131072}},
    [HABIT_CODE_ANSWER] = {"code.answer",
                           "tokens",
                           "agents: answers",
                           true,
                           {9, 103, 125, 149, 173, 211, 267, 341, 476, 788, 1428, 2335, 3187,
                            11082}},
    [HABIT_CODE_STEPS] = {"code.steps",
                          "steps",
                          "agents: steps of a session",
                          true,
                          {3, 5, 11, 17, 25, 41, 51, 67, 83, 97, 121, 146, 146, 169}},
    [HABIT_CODE_TOOL] = {"code.tool",
                         "ms",
                         "agents: times from an answer to the next step, where no person asks",
                         true,
                         {500, 4000, 5000, 6000, 7000, 10000, 13000, 19000, 39000, 116000, 189000,
                          401000, 1110000, 3600000}},
    [HABIT_CODE_PERSON] =
        {"code.person", "ppm", "agents: steps whose answer goes to a person", false, {37037}},
    [HABIT_CODE_BREAK] = {"code.break",
                          "ms",
                          "agents: times until that person asks again, at most 3600 s",
                          true,
                          {1, 5000, 36000, 88000, 168000, 215000, 391000, 793000, 1605000, 3039000,
                           3600000, 3600000, 3600000, 3600000}},
    [HABIT_CODE_AGENT] = {"code.agent",
                          "ppm",
                          "steps that start a sub-agent: 59 in 710 sessions of 48.3 steps",
                          false,
                          {1720}},
    [HABIT_CODE_AGENT_SYSTEM] = {"code.agent_system",
                                 "tokens",
                                 "sub-agents: tools and system prompt, median",
                                 false,
                                 {8504}},
    [HABIT_CODE_AGENT_FIRST] = {"code.agent_first",
                                "tokens",
                                "sub-agents: first requests, without tools and system prompt",
                                true,
                                {502, 504, 514, 2475, 2487, 3228, 3234, 3260, 3293, 3294, 3294,
                                 3747, 3747, 3747}},
    [HABIT_CODE_AGENT_GROWTH] = {"code.agent_growth",
                                 "tokens",
                                 "sub-agents: tokens that a step adds",
                                 true,
                                 {25, 246, 402, 858, 1334, 2322, 3206, 3903, 6256, 9158, 15541,
                                  30753, 50039, 50491}},
    [HABIT_CODE_AGENT_STEPS] = {"code.agent_steps",
                                "steps",
                                "sub-agents: steps",
                                true,
                                {2, 4, 5, 11, 11, 12, 13, 14, 18, 22, 22, 24, 24, 24}},
    [HABIT_READING_WORDS] = {"reading.words",
                             "words",
                             "words a minute, as Brysbaert (2019) has them: 238",
                             false,
                             {240}},
    [HABIT_READING_TOKENS] = {"reading.tokens",
                              "words",
                              "words in 1000 tokens of English, the usual estimate",
                              false,
                              {750}},
    [HABIT_READING_SPREAD] =
        {"reading.spread",
         "thousandths",
         "deviation of the logarithm between readers, thousandths: 51 of 238 words (Brysbaert)",
         false,
         {212}},
};

int64_t habits_value(enum habit h)
{
    assert(!habits[h].table);
    return habits[h].value[0];
}

int64_t habits_at(enum habit h, unsigned percent)
{
    int k = 0;
    while (habits_share[k] < percent)
        k++;
    assert(habits[h].table && habits_share[k] == percent);
    return habits[h].value[k];
}

bool habits_chance(enum habit h, struct rng *r)
{
    return rng_chance(r, (double)habits_value(h) * 1e-6);
}

int64_t habits_draw(enum habit h, struct rng *r)
{
    const uint32_t *value = habits[h].value;
    assert(habits[h].table);
    const double share = 100 * rng_unit(r);
    int k = 1;
    while (k < HABITS_POINTS - 1 && share >= habits_share[k])
        k++;
    const double least = value[k - 1], most = value[k];
    const double part = (share - habits_share[k - 1]) / (habits_share[k] - habits_share[k - 1]);
    return (int64_t)(least * rng_exp(part * rng_ln(most / least)) + 0.5);
}

int64_t habits_reading_ns(int64_t answer_tokens, struct rng *r)
{
    const double words =
        (double)answer_tokens * (double)habits_value(HABIT_READING_TOKENS) / 1000.0;
    const double minutes = words / (double)habits_value(HABIT_READING_WORDS);
    const double spread = (double)habits_value(HABIT_READING_SPREAD) / 1000.0;
    return (int64_t)(minutes * 60 * (double)UNITS_NS_PER_S * rng_exp(spread * rng_normal(r)));
}

void habits_print(FILE *f, const char *prefix)
{
    for (int h = 0; h < HABITS; h++) {
        const struct habit_figure *figure = &habits[h];
        if (strncmp(figure->name, prefix, strlen(prefix)) != 0)
            continue;
        fprintf(f, "  %s %s", figure->name, figure->unit);
        for (int i = 0; i < (figure->table ? HABITS_POINTS : 1); i++)
            fprintf(f, " %u", figure->value[i]);
        fprintf(f, "\n      %s\n", figure->source);
    }
}
