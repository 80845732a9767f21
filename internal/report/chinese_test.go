package report

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
)

// inChinese is everything, with reasons in Chinese.
func inChinese() *record.Report {
	r := everything()
	r.Warnings, r.OrderSource, r.GraphSource, r.FailedFast = nil, lang.Plain("x"), lang.Plain("y"), true
	for i := range r.Rows {
		row := &r.Rows[i]
		for k := range row.Reasons {
			row.Reasons[k].Evidence = lang.Sayf("as it is", "理由")
		}
		if row.Err != nil {
			row.Err = errors.New("坏")
		}
		row.Notes = []lang.Sentence{lang.Sayf("NPU %s to %s", "NPU 由 %s 转为 %s", "NHWC", "NCHW"), lang.Sayf("--ref-format, which decides)", "--ref-format)")}
	}
	return r
}

// TestCompareChinese: nothing of a comparison for people is left in English.
func TestCompareChinese(t *testing.T) {
	english := regexp.MustCompile(`[a-z]{2,},? [a-z]{2,}`)
	reports := map[string]*record.Report{"all": inChinese(), "passing": reportOf(passing("a")), "empty": reportOf()}
	reports["interrupted"] = inChinese()
	reports["interrupted"].Interrupted = true
	reports["fewer"] = reportOf(passing("a"), uncompared("b", record.UnmatchedRef))
	reports["alone"] = reportOf(uncompared("b", record.UnmatchedRef))
	reports["part"] = reportOf(passing("a"))
	reports["part"].Counts[record.Partial] = 1
	reports["known"] = inChinese()
	reports["known"].Baseline.Updated = true
	for name, r := range reports {
		for _, text := range []Text{{Lang: Chinese}, {Lang: Chinese, Width: 100}} {
			got := []string{
				rendered(t, func(w io.Writer) error { return text.WriteCompare(w, r) }),
				rendered(t, func(w io.Writer) error { return text.WriteCompareMarkdown(w, r) }),
			}
			for i := range r.Rows {
				got = append(got, rendered(t, func(w io.Writer) error { return text.WriteCompareDetail(w, &r.Rows[i]) }))
			}
			for _, g := range got {
				if found := english.FindAllString(strings.NewReplacer("profile hpaa", "", "svg width", "").Replace(g), -1); found != nil {
					t.Errorf("%s: English %q in\n%s", name, found, g)
				}
			}
		}
	}
}

// TestProgramsReadEnglish: what is for programs is the same in all languages.
func TestProgramsReadEnglish(t *testing.T) {
	r := inChinese()
	for _, f := range Formats() {
		if slices.Contains([]string{"text", "md"}, f.Name) {
			continue
		}
		for i := range f.Writers {
			var result any
			switch w := &f.Writers[i]; {
			case w.result == FormatsOf[*record.Report]()[0].Writers[0].result:
				result = r
			case w.result == FormatsOf[*record.Row]()[0].Writers[0].result:
				result = &r.Rows[4]
			default:
				continue
			}
			var both [2]bytes.Buffer
			for k, l := range []Lang{English, Chinese} {
				if err := f.Writers[i].write(&both[k], result, Options{Text: Text{Lang: l}}); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(both[0].Bytes(), both[1].Bytes()) || both[0].Len() == 0 {
				t.Errorf("%s of %T depends on the language", f.Name, result)
			}
		}
	}
}
