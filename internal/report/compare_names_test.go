package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestFileNames(t *testing.T) {
	f := NewFileNames()
	for _, c := range []struct{ name, want string }{
		{"conv1", "conv1"},
		{"net/a:0", "net_a_0"},
		{"net_a_0", "net_a_0~2"},
		{"Net\\A*0", "Net_A_0~3"},
		{`?"<>|` + "\x00\n\x7f", "________"},
		{"cpu_vs_npu", "cpu_vs_npu~2"},
		{"OP_CONFIG", "OP_CONFIG~2"},
		{"compare", "compare~2"},
		{"conv1~2", "conv1~2"},
		{"conv1", "conv1~3"},
		{"", "_"},
		{"..", ".._"},
		{"卷积", "卷积"},
		{"a\xffb", "a_b"},
		{"b\u202ec", "b_c"},
	} {
		if got := f.Stem(c.name); got != c.want {
			t.Errorf("%q is in %q, want %q", c.name, got, c.want)
		}
	}
	lines := table(t, rendered(t, f.WriteTable))
	if len(lines) != 15 || lines[2]["file"] != "net_a_0~2.csv" || lines[2]["op_name"] != "net_a_0" {
		t.Errorf("op_names.csv is %v", lines)
	}
}

func TestLongFileNames(t *testing.T) {
	f := NewFileNames()
	exact := strings.Repeat("a", 200)
	if got := f.Stem(exact); got != exact {
		t.Errorf("200 bytes became %q", got)
	}
	a, b := f.Stem(strings.Repeat("积", 100)+"x"), f.Stem(strings.Repeat("积", 100)+"y")
	if a == b || len(a) > 200 || len(a) < 185 || !utf8.ValidString(a) || !strings.HasPrefix(a, "积积积") {
		t.Errorf("long names became %q and %q", a, b)
	}
}

// TestFileNamesProperty: for any names the file names differ ignoring case, and contain nothing
// that a file system refuses.
func TestFileNamesProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a", "A", "a~2", "a~3", "compare", "a/b", "a:b"}))).Draw(t, "names")
		f, again := NewFileNames(), NewFileNames()
		seen := map[string]bool{"cpu_vs_npu": true, "op_config": true, "op_names": true}
		for _, name := range names {
			stem := f.Stem(name)
			if seen[strings.ToLower(stem)] {
				t.Fatalf("%q twice", stem)
			}
			seen[strings.ToLower(stem)] = true
			if stem == "" || len(stem) > 220 || strings.ContainsAny(stem, "/\\:*?\"<>|\n\t\x00") || strings.Trim(stem, ".") == "" {
				t.Fatalf("%q is no name of a file", stem)
			}
			if other := again.Stem(name); other != stem {
				t.Fatalf("%q and %q for the same name", stem, other)
			}
		}
	})
}

func TestManyEqualFileNames(t *testing.T) {
	f := NewFileNames()
	for range 20_000 {
		f.Stem("a")
	}
	if got := f.Stem("A"); got != "A~20001" {
		t.Error(got)
	}
}

func TestSkipLogs(t *testing.T) {
	r := everything()
	r.Rows = append(r.Rows, uncompared("tab\there\n", record.Skip, finding.Finding{Code: finding.Excluded, Evidence: lang.Plain("two\nlines")}),
		uncompared("short", record.Error, finding.Finding{Code: finding.ConcatShape, Evidence: lang.Plain("(2, 3) beside (2, 4)")}),
		uncompared("size", record.Skip, finding.Finding{Code: finding.SizeMismatch, Evidence: lang.Plain("7 bytes, want 8")}),
		uncompared("extra", record.UnmatchedNPU, finding.Finding{Code: finding.NotInModel, Evidence: lang.Plain("no such node")}))
	want := map[string]string{
		"check_skip.log":   "net/hex\tBAD_HEX\tline 3: \"zz\"\nsize\tSIZE_MISMATCH\t7 bytes, want 8\n",
		"concate_skip.log": "net/cat\tMISSING_PIECE\tpiece 2 of 4; 32 bytes at 0x80, found 7\nshort\tCONCAT_SHAPE\t(2, 3) beside (2, 4); 32 bytes at 0x80, found 7\n",
		"compare_skip.log": "net/pad1\tUNMATCHED_REF\tthe NPU run has no such tensor\n" +
			"net/skip\tSKIP_KEY\tskip key \"skip\"\n" +
			"net/mat\tLAYOUT\t(2, 3) against (3, 2)\n" +
			"net/type\tDTYPE_MISMATCH\tthe element types differ\n" +
			"net/twin\tAMBIGUOUS\tseveral tensors match\n" +
			"net/torn\tERROR\t32 bytes at 0x80, found 7\n" +
			"tab\\there\\n\tEXCLUDED\ttwo\\nlines\n",
		"invalid_out_nodename.log": "net/fused\tNOT_IN_MODEL\tthe reference has no such tensor\nextra\tNOT_IN_MODEL\tno such node\n",
	}
	got := map[string]string{}
	for _, file := range SkipLogs(r, nil) {
		got[file.Name] = rendered(t, file.Write)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, file := range SkipLogs(reportOf(passing("a")), nil) {
		var b bytes.Buffer
		if err := file.Write(&b); err != nil || b.Len() > 0 {
			t.Errorf("%s of a run without skips holds %q, %v", file.Name, b.String(), err)
		}
	}
	if n := len(SkipLogs(reportOf(), nil)); n != 4 {
		t.Errorf("%d logs", n)
	}
}

func TestCompareLabels(t *testing.T) {
	a, b := passing("x"), passing("x")
	b.Output = 12
	if diff := cmp.Diff([]string{"x", "x:12"}, CompareLabels(reportOf(a, b))); diff != "" {
		t.Error(diff)
	}
	rows := make([]record.Row, 3)
	for i := range rows {
		rows[i] = passing("y")
		rows[i].Round = fmt.Sprint(i % 2)
	}
	if diff := cmp.Diff([]string{"y@0", "y@1", "y@0"}, CompareLabels(reportOf(rows...))); diff != "" {
		t.Error(diff)
	}
}
