package report

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/find"
	"dumptool/internal/finding"
	"dumptool/internal/format"
	"dumptool/internal/inspect"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/opdebug"
	"dumptool/internal/perf"
	"dumptool/internal/recompute"
	"dumptool/internal/tensor"
)

// forms describes the JSON of types that marshal themselves to something other than text.
var forms = map[reflect.Type]string{
	reflect.TypeFor[metrics.Pictures]():     "object", // docs/json-compare.md has its keys
	reflect.TypeFor[metrics.Metric]():       "number, or null where there is none",
	reflect.TypeFor[metrics.Value]():        `number, "nan", "inf" or "-inf", or a list of two of them for a complex element`,
	reflect.TypeFor[tensor.Number]():        `number, "nan", "inf" or "-inf"`,
	reflect.TypeFor[jsonpos.NullableText](): "text or null",
	reflect.TypeFor[inspect.Time]():         "number or null",
	reflect.TypeFor[inspect.Shape]():        "list of numbers",
	reflect.TypeFor[find.Link]():            "list of a name and a number",
	reflect.TypeFor[perf.SkippedOperator](): "list of the name and the reason",
	reflect.TypeFor[perf.Problem]():         "list of the line, what is wrong, the column and the file",
	reflect.TypeFor[perf.Ratio]():           "number",
	reflect.TypeFor[perf.Relation]():        "text or null",
	reflect.TypeFor[*opdebug.Record]():      "object, as the CANN converter writes it",
	reflect.TypeFor[format.Attrs]():         "object of names and values",
	reflect.TypeFor[[0]struct{}]():          "list",
	reflect.TypeFor[[3]any]():               "list of a name and two numbers",
	reflect.TypeFor[[2]int]():               "pair of numbers",
	reflect.TypeFor[[2]int64]():             "list of two numbers",
	reflect.TypeFor[map[string]int]():       "object of numbers",
	reflect.TypeFor[json.RawMessage]():      "object",
	reflect.TypeFor[perf.Count]():           "number or null",
	reflect.TypeFor[lang.Text]():            "object of a text in English, en, and one in Chinese, zh",
	reflect.TypeFor[recompute.Attributes](): "object of names, each with a value and its source",
	reflect.TypeFor[finding.Facts]():        "object of numbers",
}

// results lists the types behind interfaces in documents.
var results = map[reflect.Type][]reflect.Type{
	reflect.TypeFor[find.Result](): {reflect.TypeFor[find.Operator](), reflect.TypeFor[find.Parameter]()},
}

// TestDocuments compares docs/json-documents.md with the types of the documents; -update writes it.
func TestDocuments(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Documents\n\nThe keys of what `dumptool` writes as JSON. A key with a question mark is left out where there is nothing to say.\n" +
		"Keys are only added while the number of a schema stays. This file is made of the Go types: `go test ./internal/report -run TestDocuments -update`.\n")
	for _, s := range samples {
		if s.command == "" {
			continue
		}
		document := reflect.ValueOf(s.result).Elem()
		fmt.Fprintf(&b, "\n## %s\n\n`dumptool %s`\n\n| key | value | meaning |\n|---|---|---|\n", document.FieldByName("Schema"), s.command)
		k := keys{t: t, b: &b}
		k.structure("", document.Type())
		if r, ok := s.result.(*perf.Report); ok {
			k.columns("operators[].", r, perfColumns(r))
			k.columns("operators[].derived.", r, derivedColumns(r))
		}
	}
	wantFile(t, "../../docs/json-documents.md", b.String())
}

// keys writes the keys of a document.
type keys struct {
	t *testing.T
	b *strings.Builder
}

func (k *keys) row(key, form, meaning string) {
	fmt.Fprintf(k.b, "| `%s` | %s | %s |\n", key, form, strings.ReplaceAll(meaning, "|", `\|`))
}

// columns writes the keys of a table with the columns of perf.
func (k *keys) columns(prefix string, r *perf.Report, columns []Column[*perf.Operator]) {
	for _, c := range (Table[*perf.Operator]{Columns: columns}).columns(InJSON) {
		if c.Doc == "" {
			k.t.Errorf("column %s says nothing", c.Name)
		}
		form := ""
		for _, o := range r.Operators {
			if v := c.Cell(o); v != nil {
				form, _, _ = formOf(reflect.TypeOf(v))
			}
		}
		k.row(prefix+cmp.Or(c.Key, c.Name), form, c.Doc)
	}
}

// structure writes the keys of a struct, with a prefix.
func (k *keys) structure(prefix string, of reflect.Type) {
	comments := commentsOf(k.t, of)
	for i := range of.NumField() {
		f := of.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && name == "":
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			k.structure(prefix, embedded)
			continue
		}
		if name == "" {
			k.t.Errorf("%v.%s has no key", of, f.Name)
		}
		meaning := comments[f.Name]
		if meaning == "" && name != "schema" {
			k.t.Errorf("%v.%s has no comment", of, f.Name)
		}
		if name == "schema" {
			meaning = "The schema of the document."
		}
		form, inner, suffix := formOf(f.Type)
		shown := prefix + name
		if options != "" {
			shown += "?"
			form = strings.TrimSuffix(form, " or null")
		}
		k.row(shown, form, meaning)
		for _, one := range inner {
			if len(inner) > 1 {
				k.row(prefix+name+suffix, "object", "One of "+one.Name()+":")
			}
			k.structure(prefix+name+suffix+".", one)
		}
	}
}

// formOf describes the JSON of a type, and returns the structs whose keys are to be listed, and the
// separator between their keys and the field's.
func formOf(t reflect.Type) (form string, inner []reflect.Type, suffix string) {
	if form := forms[t]; form != "" {
		return form, nil, ""
	}
	if all := results[t]; all != nil {
		return "object", all, ""
	}
	if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return "text", nil, ""
	}
	switch t.Kind() {
	case reflect.Pointer:
		form, inner, suffix := formOf(t.Elem())
		return form + " or null", inner, suffix
	case reflect.String:
		return "text", nil, ""
	case reflect.Bool:
		return "true or false", nil, ""
	case reflect.Slice:
		form, inner, suffix := formOf(t.Elem())
		plural := map[string]string{"text": "texts", "number": "numbers", "object": "objects", "pair of numbers": "pairs of numbers"}
		if many := plural[strings.TrimSuffix(form, " or null")]; many != "" {
			form = many
		}
		return "list of " + form, inner, "[]" + suffix
	case reflect.Map:
		form, _, _ := formOf(t.Elem())
		if of, ok := strings.CutPrefix(form, "list of "); ok {
			return "object of lists of " + of, nil, ""
		}
		return "object of " + form + "s", nil, ""
	case reflect.Struct:
		return "object", []reflect.Type{t}, ""
	}
	return "number", nil, ""
}

// commentsOf returns the comments of a struct's fields. A field without a comment gets the
// sentences that name it in the comment of a field above, or of several fields. Keys replace the
// names.
func commentsOf(t *testing.T, of reflect.Type) map[string]string {
	t.Helper()
	list := fieldsOf(t, of)
	names := make(map[string]string)
	for i := range of.NumField() {
		if key, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); key != "" && key != "-" {
			names[of.Field(i).Name] = key
		}
	}
	word := regexp.MustCompile(`\b[A-Z]\w*\b`)
	all, above := make(map[string]string), ""
	for _, f := range list.List {
		text := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
		if text != "" {
			above = text
		}
		for _, name := range f.Names {
			says := ""
			for sentence := range strings.SplitAfterSeq(above, ". ") {
				if regexp.MustCompile(`\b` + name.Name + `\b`).MatchString(sentence) {
					says += sentence
				}
			}
			if says == "" {
				says = text
			}
			says = word.ReplaceAllStringFunc(says, func(w string) string {
				if key := names[w]; key != "" {
					return "`" + key + "`"
				}
				return w
			})
			all[name.Name] = strings.TrimSpace(says)
		}
	}
	return all
}

// fieldsOf returns the fields of a struct in its source.
func fieldsOf(t *testing.T, of reflect.Type) *ast.FieldList {
	t.Helper()
	dir := filepath.Join("../..", strings.TrimPrefix(of.PkgPath(), "dumptool/"))
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range tree.Decls {
			types, _ := decl.(*ast.GenDecl)
			if types == nil {
				continue
			}
			for _, spec := range types.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok && spec.Name.Name == strings.Split(of.Name(), "[")[0] {
					if s, ok := spec.Type.(*ast.StructType); ok {
						return s.Fields
					}
				}
			}
		}
	}
	t.Fatalf("no source of %v", of)
	return nil
}
