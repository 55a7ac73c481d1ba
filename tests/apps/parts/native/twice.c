// SPDX-License-Identifier: Apache-2.0
/* org.example.parts.Whole.twice: env and the class are not used, so JNI's header is not needed. */
int Java_org_example_parts_Whole_twice(void *env, void *class, int number);

int Java_org_example_parts_Whole_twice(void *env, void *class, int number)
{
	(void)env;
	(void)class;
	return 2 * number;
}
