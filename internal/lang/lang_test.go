package lang

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestCompareNaturalSlowly takes names apart into numbers and bytes.
func TestCompareNaturalSlowly(t *testing.T) {
	words := regexp.MustCompile(`[0-9]+|[^0-9]`)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a_01]{0,8}`)
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		want := slices.CompareFunc(words.FindAllString(a, -1), words.FindAllString(b, -1), func(x, y string) int {
			m, err := strconv.Atoi(x)
			n, err2 := strconv.Atoi(y)
			if err == nil && err2 == nil {
				return m - n
			}
			return strings.Compare(x[:1], y[:1])
		})
		want = cmp.Or(want, strings.Compare(a, b))
		if got := CompareNatural(a, b); (got < 0) != (want < 0) || (got > 0) != (want > 0) {
			t.Errorf("%q and %q compare as %d, want %d", a, b, got, want)
		}
	})
}

func TestCompareNatural(t *testing.T) {
	sorted := []string{"", "1", "2", "10", "a", "op", "op2", "op02", "op2a", "op10", "op10_1", "op10_2", "op10_10", "op_1", "opa", "op" + "é"}
	// Equal numbers: the shorter rest, then the bytes decide.
	sorted[6], sorted[7] = "op02", "op2"
	for i, a := range sorted {
		for j, b := range sorted {
			got := CompareNatural(a, b)
			if (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%q and %q compare as %d", a, b, got)
			}
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"jobs", "jobs", 0},
		{"jobs", "jbos", 1}, {"otu", "out", 1}, {"ab", "ba", 1}, {"abc", "ca", 3}, {"ca", "abc", 3}, {"abc", "xbc", 1}, {"kitten", "sitting", 3}, {"out", "output", 3},
	}
	for _, tt := range tests {
		if got := Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
	word := rapid.StringMatching(`[ab]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		got := Distance(a, b)
		if got != Distance(b, a) {
			t.Errorf("the distance of %q and %q depends on the direction", a, b)
		}
		if longer := max(len(a), len(b)); got > longer || got < longer-min(len(a), len(b)) || (got == 0) != (a == b) {
			t.Errorf("Distance(%q, %q) = %d is impossible", a, b, got)
		}
	})
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 2: "2 files", 1000: "1000 files"} {
		if got := Count(n, "file"); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestSentence(t *testing.T) {
	things := Text{EN: "2 tensors", ZH: "2 个张量"}
	for name, tt := range map[string]struct {
		s    Sentence
		want Text
	}{
		"zero":      {Sentence{}, Text{}},
		"plain":     {Plain("50 % <b>"), Text{EN: "50 % <b>", ZH: "50 % <b>"}},
		"empty":     {Plain(""), Text{}},
		"arguments": {Sayf("%d of %s, 5 %%: %v", "%d/%s，5 %%：%v", 1, things, errors.New("gone")), Text{EN: "1 of 2 tensors, 5 %: gone", ZH: "1/2 个张量，5 %：gone"}},
		"order":     {Sayf("%[1]s in %[2]d", "%[2]d 中的 %[1]s", "x", 7), Text{EN: "x in 7", ZH: "7 中的 x"}},
		"nested":    {Sayf("a%s", "甲%s", Sayf(" (%s)", "（%s）", things)), Text{EN: "a (2 tensors)", ZH: "甲（2 个张量）"}},
		"nothing":   {Sayf("a%s", "甲%s", Sentence{}), Text{EN: "a", ZH: "甲"}},
		"text of":   {Sayf("%s!", "%s！", teller{}), Text{EN: "a!", ZH: "甲！"}},
		"error":     {Sayf("a: %v", "甲：%v", fmt.Errorf("file: %w", tellerError{})), Text{EN: "a: file: a", ZH: "甲：file: 甲"}},
		"joined":    {Join([]Sentence{Sayf("a", "甲"), Plain("b"), Sayf("c", "丙")}, Text{EN: "; ", ZH: "；"}), Text{EN: "a; b; c", ZH: "甲；b；丙"}},
		"none":      {Join(nil, Text{EN: "; ", ZH: "；"}), Text{}},
	} {
		if got := tt.s.Text(); got != tt.want || tt.s.String() != tt.want.EN || tt.s.IsZero() != (tt.want == Text{}) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	if !Sayf("%d b", "%d 乙", 1).Equal(Plain("1 b")) || Plain("a").Equal(Sentence{}) {
		t.Error("sentences are not compared by their English")
	}
}

// teller is an argument with a text.
type teller struct{}

func (teller) Text() Text { return Text{EN: "a", ZH: "甲"} }

// tellerError is an error with a text.
type tellerError struct{ teller }

func (tellerError) Error() string { return "a" }

func TestSentenceJSON(t *testing.T) {
	type list struct {
		Text     string   `json:"text"`
		Sentence Sentence `json:"sentence"`
	}
	for _, text := range []string{"", "a < b & \"c\"\u2028", "\xff"} {
		got, err := json.Marshal(list{text, Sayf("%s", "无", text)})
		var same map[string]json.RawMessage
		if err := errors.Join(err, json.Unmarshal(got, &same)); err != nil || string(same["text"]) != string(same["sentence"]) {
			t.Errorf("%q: %s, %v", text, got, err)
		}
		var back list
		if err := json.Unmarshal(got, &back); err != nil || back.Sentence.String() != back.Text || back.Sentence.Text().ZH != back.Text {
			t.Errorf("%q comes back as %q, %v", text, back.Sentence, err)
		}
	}
}

// TestTemplates reads the source of the module: every text has both languages, with
// the same verbs, and as many arguments as they use.
func TestTemplates(t *testing.T) {
	found := 0
	for path, file := range sources(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			en, zh, args := template(n)
			if en == nil {
				return true
			}
			found++
			where := fmt.Sprintf("%s: %s", path, *en)
			switch {
			case (*en == "") != (*zh == ""):
				t.Errorf("%s: one language is missing, there is %q", where, *zh)
			case !maps.Equal(verbs(*en), verbs(*zh)):
				t.Errorf("%s: the verbs are not those of %s", where, *zh)
			case args >= 0 && len(verbs(*en)) != args:
				t.Errorf("%s: %d arguments", where, args)
			}
			return true
		})
	}
	if found < 300 {
		t.Errorf("only %d texts found", found)
	}
}

// sources parses the module, without its tests.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	for _, root := range []string{"../../internal", "../../cmd"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			files[path] = file
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// template returns the two languages of a text, nil for any other node, and the
// number of its arguments, -1 where it is not known.
func template(n ast.Node) (en, zh *string, args int) {
	switch n := n.(type) {
	case *ast.CompositeLit:
		for _, e := range n.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				switch key, _ := kv.Key.(*ast.Ident); {
				case key == nil:
				case key.Name == "EN":
					en = literal(kv.Value)
				case key.Name == "ZH":
					zh = literal(kv.Value)
				}
			}
		}
		args = -1
	case *ast.CallExpr:
		first, ok := templates[called(n.Fun)]
		if !ok || len(n.Args) < first+2 {
			return nil, nil, 0
		}
		en, zh, args = literal(n.Args[first]), literal(n.Args[first+1]), len(n.Args)-first-2
		if en != nil && zh == nil && strings.HasPrefix(called(n.Fun), "batch.") {
			zh = new(string) // a missing text
		}
		if n.Ellipsis.IsValid() || args == 0 {
			args = -1 // what has none is not formatted
		}
	}
	if en == nil || zh == nil {
		return nil, nil, 0
	}
	return en, zh, args
}

// templates are the functions that take a text in both languages, and which of
// their arguments is the first of these.
var templates = map[string]int{
	"Sayf": 0, "say": 0, "Nothingf": 0, "nothingf": 0,
	"batch.Outcomef": 1, "batch.Errorf": 0, "batch.Warnf": 0, "batch.Infof": 0, "batch.Hintf": 0,
}

// called is the name of a function as it is called, if templates has that, else
// without its package or receiver.
func called(f ast.Expr) string {
	switch f := f.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			full := x.Name + "." + f.Sel.Name
			if _, ok := templates[full]; ok {
				return full
			}
		}
		return f.Sel.Name
	}
	return ""
}

// literal is the value of a string that is written out, nil for anything else.
func literal(e ast.Expr) *string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); err == nil {
			return &s
		}
	case *ast.BinaryExpr:
		if x, y := literal(e.X), literal(e.Y); x != nil && y != nil {
			s := *x + *y
			return &s
		}
	}
	return nil
}

// verb is one of package fmt, which wants the number of an argument right before the letter.
var verb = regexp.MustCompile(`%([-+# 0]*\d*(?:\.\d+)?)(?:\[(\d+)\])?([a-zA-Z%])`)

// verbs are the verbs of a template by the argument that they print.
func verbs(template string) map[int]string {
	all, next := map[int]string{}, 1
	for _, m := range verb.FindAllStringSubmatch(template, -1) {
		if m[3] == "%" {
			continue
		}
		if n, err := strconv.Atoi(m[2]); err == nil {
			next = n
		}
		all[next] = m[1] + m[3]
		next++
	}
	return all
}

func TestChineseLocale(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]bool{
		"":                                 false,
		"LANG=zh_CN.UTF-8":                 true,
		"LANG=zh":                          true,
		"LANG=ZH_TW":                       true,
		"LANG=en_US.UTF-8":                 false,
		"LANG=zh_CN.UTF-8 LC_ALL=C":        false,
		"LANG=zh_CN.UTF-8 LC_ALL=":         true,
		"LANG=C LC_ALL=zh_CN":              true,
		"LANG=C LC_MESSAGES=zh_CN":         true,
		"LC_MESSAGES=en LANG=zh_CN":        false,
		"LC_ALL=en LC_MESSAGES=zh LANG=zh": false,
		"LANGUAGE=zh LC_CTYPE=zh_CN.UTF-8": false,
	} {
		getenv := func(name string) string {
			for _, set := range strings.Fields(env) {
				if value, ok := strings.CutPrefix(set, name+"="); ok {
					return value
				}
			}
			return ""
		}
		if got := ChineseLocale(getenv); got != want {
			t.Errorf("%s: %v", env, got)
		}
	}
}
