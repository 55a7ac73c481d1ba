// SPDX-License-Identifier: Apache-2.0
/* JNI and JVM functions with variable arguments: stable Rust cannot define them.
 *
 * Arguments are gathered into an array by the method's kinds, then handed to
 * the `A` form, which is Rust's.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

typedef union {
	uint8_t z;
	int8_t b;
	uint16_t c;
	int16_t s;
	int32_t i;
	int64_t j;
	float f;
	double d;
	void *l;
} value;

enum { PARAMETERS_MAX = 255 };

/* Writes one letter per parameter, as in descriptors, `L` for references. */
extern void takt_parameter_kinds(void *method, char kinds[PARAMETERS_MAX + 1]);

static void gather(void *method, va_list list, value out[PARAMETERS_MAX])
{
	char kinds[PARAMETERS_MAX + 1];

	takt_parameter_kinds(method, kinds);
	for (int i = 0; kinds[i]; i++) {
		switch (kinds[i]) {
		case 'J': out[i].j = va_arg(list, int64_t); break;
		case 'F': out[i].f = (float)va_arg(list, double); break;
		case 'D': out[i].d = va_arg(list, double); break;
		case 'L': out[i].l = va_arg(list, void *); break;
		default: out[i].j = 0; out[i].i = va_arg(list, int); break;
		}
	}
}

#define FAMILY(NAME, TYPE)                                                              \
	extern TYPE takt_Call##NAME##MethodA(void *, void *, void *, const value *);    \
	extern TYPE takt_CallNonvirtual##NAME##MethodA(void *, void *, void *, void *,  \
						       const value *);                  \
	extern TYPE takt_CallStatic##NAME##MethodA(void *, void *, void *,              \
						   const value *);                      \
	TYPE takt_Call##NAME##MethodV(void *e, void *o, void *m, va_list l)             \
	{                                                                               \
		value v[PARAMETERS_MAX];                                                \
		gather(m, l, v);                                                        \
		return takt_Call##NAME##MethodA(e, o, m, v);                            \
	}                                                                               \
	TYPE takt_Call##NAME##Method(void *e, void *o, void *m, ...)                    \
	{                                                                               \
		value v[PARAMETERS_MAX];                                                \
		va_list l;                                                              \
		va_start(l, m);                                                         \
		gather(m, l, v);                                                        \
		va_end(l);                                                              \
		return takt_Call##NAME##MethodA(e, o, m, v);                            \
	}                                                                               \
	TYPE takt_CallNonvirtual##NAME##MethodV(void *e, void *o, void *c, void *m,     \
						va_list l)                              \
	{                                                                               \
		value v[PARAMETERS_MAX];                                                \
		gather(m, l, v);                                                        \
		return takt_CallNonvirtual##NAME##MethodA(e, o, c, m, v);               \
	}                                                                               \
	TYPE takt_CallNonvirtual##NAME##Method(void *e, void *o, void *c, void *m, ...) \
	{                                                                               \
		value v[PARAMETERS_MAX];                                                \
		va_list l;                                                              \
		va_start(l, m);                                                         \
		gather(m, l, v);                                                        \
		va_end(l);                                                              \
		return takt_CallNonvirtual##NAME##MethodA(e, o, c, m, v);               \
	}                                                                               \
	TYPE takt_CallStatic##NAME##MethodV(void *e, void *c, void *m, va_list l)       \
	{                                                                               \
		value v[PARAMETERS_MAX];                                                \
		gather(m, l, v);                                                        \
		return takt_CallStatic##NAME##MethodA(e, c, m, v);                      \
	}                                                                               \
	TYPE takt_CallStatic##NAME##Method(void *e, void *c, void *m, ...)              \
	{                                                                               \
		value v[PARAMETERS_MAX];                                                \
		va_list l;                                                              \
		va_start(l, m);                                                         \
		gather(m, l, v);                                                        \
		va_end(l);                                                              \
		return takt_CallStatic##NAME##MethodA(e, c, m, v);                      \
	}

FAMILY(Object, void *)
FAMILY(Boolean, uint8_t)
FAMILY(Byte, int8_t)
FAMILY(Char, uint16_t)
FAMILY(Short, int16_t)
FAMILY(Int, int32_t)
FAMILY(Long, int64_t)
FAMILY(Float, float)
FAMILY(Double, double)
FAMILY(Void, void)

extern void *takt_NewObjectA(void *, void *, void *, const value *);

void *takt_NewObjectV(void *e, void *c, void *m, va_list l)
{
	value v[PARAMETERS_MAX];

	gather(m, l, v);
	return takt_NewObjectA(e, c, m, v);
}

void *takt_NewObject(void *e, void *c, void *m, ...)
{
	value v[PARAMETERS_MAX];
	va_list l;

	va_start(l, m);
	gather(m, l, v);
	va_end(l);
	return takt_NewObjectA(e, c, m, v);
}

/* jio_*: as the C library's, except that what does not fit gives -1. */
int takt_jio_vsnprintf(char *text, size_t size, const char *format, va_list l)
{
	if ((intptr_t)size <= 0)
		return -1;
	int written = vsnprintf(text, size, format, l);

	return written < 0 || (size_t)written >= size ? -1 : written;
}

int takt_jio_snprintf(char *text, size_t size, const char *format, ...)
{
	va_list l;

	va_start(l, format);
	int written = takt_jio_vsnprintf(text, size, format, l);

	va_end(l);
	return written;
}

int takt_jio_vfprintf(FILE *file, const char *format, va_list l)
{
	return vfprintf(file, format, l);
}

int takt_jio_fprintf(FILE *file, const char *format, ...)
{
	va_list l;

	va_start(l, format);
	int written = vfprintf(file, format, l);

	va_end(l);
	return written;
}
