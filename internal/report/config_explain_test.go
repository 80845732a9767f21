package report

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dumptool/internal/dumpconf"
)

// sampleExplanation has a section with lines of several sorts.
func sampleExplanation() *dumpconf.Explanation {
	return &dumpconf.Explanation{
		Schema: dumpconf.SchemaACL, Active: true,
		Sections: []dumpconf.Section{
			{Name: "what", Title: dumpconf.Text{EN: "What is dumped", ZH: "dump 什么"}, Lines: []dumpconf.Text{
				{EN: "outputs of all operators of the models that run", ZH: "所有模型中所有算子的输出张量和统计信息"},
				{EN: "name \x1b[2J", ZH: "名称 \x1b[2J"},
			}},
			{Name: "read", Title: dumpconf.Text{EN: "How to read it", ZH: "如何解析"}, Lines: []dumpconf.Text{{EN: "a - b", ZH: "a - 乙"}}},
		},
		Patterns: []string{"/d/{time}/x"},
	}
}

func TestConfigExplanation(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		printer Text
		want    string
	}{
		"wide": {Text{}, `a\n.json (acl)

What is dumped
  - outputs of all operators of the models that run
  - name \x1b[2J

How to read it
  - a - b
`},
		"narrow": {Text{Width: 24}, `a\n.json (acl)

What is dumped
  - outputs of all
    operators of the
    models that run
  - name \x1b[2J

How to read it
  - a - b
`},
		"chinese": {Text{Lang: Chinese, Width: 24}, `a\n.json (acl)

dump 什么
  - 所有模型中所有算子的
    输出张量和统计信息
  - 名称 \x1b[2J

如何解析
  - a - 乙
`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := rendered(t, func(w io.Writer) error {
				return tt.printer.WriteConfigExplanation(w, &ConfigExplanation{Name: "a\n.json", Explanation: sampleExplanation()})
			})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestConfigExplanationWidths(t *testing.T) {
	t.Parallel()
	src := `{"dump": {"dump_path": "/data/很长的文件夹/dump", "dump_mode": "all", "dump_list": [{"layer": ["` +
		strings.Repeat("算子", 100) + `"]}], "dump_lits": 1}}`
	opt := dumpconf.Options{}
	e := dumpconf.Explain(dumpconf.Check("a.json", []byte(src), opt), opt)
	for width := 40; width <= 160; width++ {
		for _, lang := range []Lang{English, Chinese} {
			got := rendered(t, func(w io.Writer) error {
				return Text{Lang: lang, Width: width}.WriteConfigExplanation(w, &ConfigExplanation{Name: "a.json", Explanation: e})
			})
			for line := range strings.Lines(got) {
				if n := metric.StringWidth(strings.TrimSuffix(line, "\n")); n > width {
					t.Fatalf("%d columns on a terminal of %d: %q", n, width, line)
				}
			}
		}
	}
}

func TestConfigExplanationJSON(t *testing.T) {
	t.Parallel()
	const want = `{"file":"a.json","schema":"acl","active":true,` +
		`"error":{"rule":"ACL010","severity":"error","path":"dump.dump_step","line":2,"column":15,"message":"must be a string","code":"EP0001","suggestion":"\"5\""},` +
		`"sections":[{"name":"what","title":"What is dumped","lines":["outputs of all operators of the models that run","name \u001b[2J"]},` +
		`{"name":"read","title":"How to read it","lines":["a - b"]}],"patterns":["/d/{time}/x"],"commands":[]}` + "\n"
	text := func(e *ConfigExplanation) string {
		return rendered(t, func(w io.Writer) error { return WriteConfigExplanationJSON(w, e) })
	}
	refused := &sampleReport(t).Findings[0]
	if diff := cmp.Diff(want, text(&ConfigExplanation{"a.json", sampleExplanation(), refused})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	const empty = `{"file":"-","schema":"unknown","active":false,"sections":[],"patterns":[],"commands":[]}` + "\n"
	if got := text(&ConfigExplanation{Name: "-", Explanation: new(dumpconf.Explanation)}); got != empty {
		t.Errorf("got %s, want %s", got, empty)
	}
}
