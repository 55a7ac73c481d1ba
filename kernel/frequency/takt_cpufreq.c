// SPDX-License-Identifier: GPL-2.0
/*
 * A cpufreq driver without hardware, for guests: the kernel's own governors, limits and
 * time_in_state over frequencies that change nothing.
 *
 * Each processor has a policy of its own, with the operating points of the large cores of a
 * HiKey 960, or of its little ones. What a governor sets is remembered and told again; code runs
 * as fast as before.
 */
#include <linux/cpufreq.h>
#include <linux/module.h>

/* In kHz. The core never writes into them, so policies share them. */
static struct cpufreq_frequency_table points[] = {
	{ .frequency = 903000 },
	{ .frequency = 1421000 },
	{ .frequency = 1805000 },
	{ .frequency = 2112000 },
	{ .frequency = 2362000 },
	{ .frequency = CPUFREQ_TABLE_END },
};

static struct cpufreq_frequency_table little_points[] = {
	{ .frequency = 533000 },
	{ .frequency = 999000 },
	{ .frequency = 1402000 },
	{ .frequency = 1709000 },
	{ .frequency = 1844000 },
	{ .frequency = CPUFREQ_TABLE_END },
};

static unsigned int little;
module_param(little, uint, 0444);
MODULE_PARM_DESC(little, "How many of the last processors are little cores");

/* Nanoseconds that a change is said to take. */
#define TRANSITION_NS 100000
/* Microseconds between two changes of schedutil's, at least. */
#define CHANGE_US 500

/* What each processor is said to run at. The core calls for one policy at a time. */
static unsigned int khz[NR_CPUS];

static int takt_init(struct cpufreq_policy *policy)
{
	struct cpufreq_frequency_table *own = points;
	unsigned int last = ARRAY_SIZE(points) - 2;

	if (policy->cpu + little >= nr_cpu_ids) {
		own = little_points;
		last = ARRAY_SIZE(little_points) - 2;
	}
	policy->freq_table = own;
	policy->cpuinfo.transition_latency = TRANSITION_NS;
	policy->transition_delay_us = CHANGE_US;
	khz[policy->cpu] = own[last].frequency;
	policy->cur = khz[policy->cpu];
	return 0;
}

static int takt_exit(struct cpufreq_policy *policy)
{
	return 0;
}

static int takt_target(struct cpufreq_policy *policy, unsigned int index)
{
	WRITE_ONCE(khz[policy->cpu], policy->freq_table[index].frequency);
	return 0;
}

static unsigned int takt_get(unsigned int cpu)
{
	return READ_ONCE(khz[cpu]);
}

static struct cpufreq_driver takt_driver = {
	.name = "takt_cpufreq",
	.flags = CPUFREQ_NEED_INITIAL_FREQ_CHECK,
	.verify = cpufreq_generic_frequency_table_verify,
	.target_index = takt_target,
	.get = takt_get,
	.init = takt_init,
	.exit = takt_exit,
	.attr = cpufreq_generic_attr,
};

/* Refused where a driver of the machine's own is there. */
static int __init takt_begin(void)
{
	return cpufreq_register_driver(&takt_driver);
}

static void __exit takt_end(void)
{
	cpufreq_unregister_driver(&takt_driver);
}

module_init(takt_begin);
module_exit(takt_end);
MODULE_DESCRIPTION("Virtual cpufreq driver of Takt's lab");
MODULE_LICENSE("GPL");
