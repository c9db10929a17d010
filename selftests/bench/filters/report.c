// SPDX-License-Identifier: GPL-2.0-only
/* Writes text, JSON and tables; see report.h. */
#include <json-c/json.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define WIDTH		88	/* width of a line of text */
#define LABEL_WIDTH	22	/* minimum width of the first column of a table */
#define CELL_WIDTH	10	/* width of the other columns */

static struct {
	const char *directory;
	struct json_object *root;
	struct json_object *claims;
	struct json_object *section;
	struct json_object *table;	/* the one that rows go to */
	const struct report_column *columns;
	unsigned int n;
	FILE *file;			/* its columns */
	bool failed;
} report;

static const char *const verdicts[] = {
	[REPORT_HOLDS] = "holds",
	[REPORT_PARTLY] = "holds in part",
	[REPORT_FAILS] = "does not hold",
};

static FILE *open_file(const char *name, const char *suffix)
{
	FILE *file;
	char *path;

	if (asprintf(&path, "%s/%s%s", report.directory, name, suffix) < 0)
		return NULL;
	file = fopen(path, "w");
	if (!file) {
		perror(path);
		report.failed = true;
	}
	free(path);
	return file;
}

static void add_string(struct json_object *to, const char *name,
		       const char *text)
{
	json_object_object_add(to, name, json_object_new_string(text));
}

static struct json_object *add_array(struct json_object *to, const char *name)
{
	struct json_object *array = json_object_new_array();

	json_object_object_add(to, name, array);
	return array;
}

static void append(struct json_object *to, const char *name,
		   struct json_object *item)
{
	json_object_array_add(json_object_object_get(to, name), item);
}

/* Print a paragraph, broken between words. The caller has printed the indentation of the first
 * line.
 */
static void print_wrapped(size_t indent, const char *text)
{
	size_t column = indent, length;

	while (*text) {
		length = strcspn(text, " ");
		if (column > indent && column + 1 + length > WIDTH)
			column = printf("\n%*s", (int)indent, "") - 1;
		column += printf("%s%.*s", column > indent ? " " : "",
				 (int)length, text);
		text += length;
		text += strspn(text, " ");
	}
	printf("\n");
}

/**
 * report_begin() - begin the report
 * @directory:	an existing directory for the files
 * @seed:	seed of all random numbers
 * @quick:	runs are fewer and smaller than the published claims ask for
 */
void report_begin(const char *directory, u64 seed, bool quick)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	report.directory = directory;
	report.root = json_object_new_object();
	json_object_object_add(report.root, "seed",
			       json_object_new_int64(seed));
	json_object_object_add(report.root, "quick",
			       json_object_new_boolean(quick));
	add_array(report.root, "sections");
	report.claims = add_array(report.root, "claims");
	printf("Filters: published claims and what is measured here "
	       "(-s %llu%s repeats this)\n", seed, quick ? " -q" : "");
}

static void end_table(void)
{
	if (report.file && fclose(report.file))
		report.failed = true;
	report.file = NULL;
	report.table = NULL;
}

void report_section(const char *title)
{
	end_table();
	report.section = json_object_new_object();
	add_string(report.section, "title", title);
	add_array(report.section, "text");
	add_array(report.section, "tables");
	append(report.root, "sections", report.section);
	printf("\n%s\n", title);
	for (; *title; title++)
		putchar('=');
	printf("\n");
}

void report_text(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		exit(1);
	va_end(args);
	append(report.section, "text", json_object_new_string(text));
	printf("\n");
	print_wrapped(0, text);
	free(text);
}

/**
 * report_table() - begin a table
 * @name:	a word, for file names
 * @title:	title
 * @label:	heading of the first column, which has labels
 * @columns:	the other columns; must stay valid until the next table
 * @n:		number of @columns
 */
void report_table(const char *name, const char *title, const char *label,
		  const struct report_column *columns, unsigned int n)
{
	struct json_object *names;
	unsigned int i;

	end_table();
	report.columns = columns;
	report.n = n;
	report.table = json_object_new_object();
	add_string(report.table, "name", name);
	add_string(report.table, "title", title);
	names = add_array(report.table, "columns");
	json_object_array_add(names, json_object_new_string(label));
	add_array(report.table, "rows");
	append(report.section, "tables", report.table);

	report.file = open_file(name, ".dat");
	if (report.file)
		fprintf(report.file, "\"%s\"", label);
	printf("\n");
	print_wrapped(0, title);
	printf("%-*s", LABEL_WIDTH, label);
	for (i = 0; i < n; i++) {
		json_object_array_add(names,
				      json_object_new_string(columns[i].name));
		printf(" %*s", CELL_WIDTH, columns[i].name);
		if (report.file)
			fprintf(report.file, " \"%s\"", columns[i].name);
	}
	printf("\n");
	if (report.file)
		fprintf(report.file, "\n");
}

static void print_cell(double value, const char *format)
{
	char text[64];

	if (isnan(value))
		snprintf(text, sizeof(text), "-");
	else
		snprintf(text, sizeof(text), format, value);
	printf(" %*s", CELL_WIDTH, text);
}

/**
 * report_row() - add a row to the table
 * @label:	its first column
 * @cells:	the other columns
 */
void report_row(const char *label, const double *cells)
{
	struct json_object *row = json_object_new_array(), *cell;
	bool quote = strchr(label, ' ');
	unsigned int i;

	json_object_array_add(row, json_object_new_string(label));
	if (report.file)
		fprintf(report.file, quote ? "\"%s\"" : "%s", label);
	printf("%-*s", LABEL_WIDTH, label);
	for (i = 0; i < report.n; i++) {
		cell = isnan(cells[i]) ? NULL :
		       json_object_new_double(cells[i]);
		json_object_array_add(row, cell);
		print_cell(cells[i], report.columns[i].format);
		if (report.file && isnan(cells[i]))
			fprintf(report.file, " -");
		else if (report.file)
			fprintf(report.file, " %.9g", cells[i]);
	}
	printf("\n");
	if (report.file)
		fprintf(report.file, "\n");
	append(report.table, "rows", row);
}

/**
 * report_claim() - report a published claim, and whether it holds
 * @claim:	the claim
 * @published:	the published figure
 * @verdict:	whether it holds here
 * @format:	the figures measured here, and the reason if they differ
 */
void report_claim(const char *claim, const char *published,
		  enum report_verdict verdict, const char *format, ...)
{
	struct json_object *object = json_object_new_object();
	va_list args;
	char *here;

	va_start(args, format);
	if (vasprintf(&here, format, args) < 0)
		exit(1);
	va_end(args);
	add_string(object, "claim", claim);
	add_string(object, "published", published);
	add_string(object, "verdict", verdicts[verdict]);
	add_string(object, "here", here);
	json_object_array_add(report.claims, object);

	printf("\nClaim      ");
	print_wrapped(11, claim);
	printf("Published  %s\nVerdict    %s\nHere       ", published,
	       verdicts[verdict]);
	print_wrapped(11, here);
	free(here);
}

static const char *text_of(struct json_object *object, const char *name)
{
	return json_object_get_string(json_object_object_get(object, name));
}

/**
 * report_end() - print a summary of the claims, and write the file
 *
 * Return: an exit status: 1 if a file could not be written.
 */
int report_end(void)
{
	size_t i, n = json_object_array_length(report.claims);
	struct json_object *claim;
	const char *text;
	FILE *file;

	report_section("All claims");
	for (i = 0; i < n; i++) {
		claim = json_object_array_get_idx(report.claims, i);
		printf("%-14s %s\n", text_of(claim, "verdict"),
		       text_of(claim, "claim"));
	}
	end_table();
	text = json_object_to_json_string_ext(report.root,
					      JSON_C_TO_STRING_PRETTY);
	file = open_file("filters", ".json");
	if (file) {
		fprintf(file, "%s\n", text);
		if (fclose(file))
			report.failed = true;
		printf("\nAlso in %s/filters.json\n", report.directory);
	}
	json_object_put(report.root);
	return report.failed;
}
