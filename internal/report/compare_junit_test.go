package report

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"dumptool/internal/compare/record"
)

// junitSuites is a JUnit report in the readers' form.
type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	junitAttributes
	Suite junitSuite `xml:"testsuite"`
}

type junitAttributes struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Time     int    `xml:"time,attr"`
}

type junitSuite struct {
	junitAttributes
	Properties *junitProperties `xml:"properties"`
	Cases      []junitCase      `xml:"testcase"`
}

// junit writes a report and parses it.
func junit(t *testing.T, r *record.Report) junitSuites {
	t.Helper()
	text := printed(t, func(w io.Writer) error { return WriteCompareJUnit(w, r) })
	if i := strings.IndexFunc(text, func(c rune) bool { return c != '\n' && !unicode.IsPrint(c) && !unicode.Is(unicode.Zs, c) }); i >= 0 || !utf8.ValidString(text) {
		t.Errorf("character %d shows nothing in %.400q", i, text)
	}
	var root junitSuites
	if err := xml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestCompareJUnit(t *testing.T) {
	rendered(t, func(w io.Writer) error { return WriteCompareJUnit(w, reportOf(failing("a"))) })
	root := junit(t, everything())
	suite := root.Suite
	if suite.Tests != 15 || suite.Failures != 3 || suite.Errors != 5 || suite.Skipped != 5 || root.Failures != 3 || suite.Time != 0 {
		t.Errorf("tests %d, failures %d, errors %d, skipped %d, time %d", suite.Tests, suite.Failures, suite.Errors, suite.Skipped, suite.Time)
	}
	for i, want := range []string{"pass", "pass", "skipped", "skipped", "failure", "failure", "failure", "error", "error", "error", "error", "skipped", "skipped", "skipped", "error"} {
		c := suite.Cases[i]
		got := "pass"
		switch {
		case c.Failure != nil:
			got = "failure"
		case c.Error != nil:
			got = "error"
		case c.Skipped != nil:
			got = "skipped"
		}
		if got != want {
			t.Errorf("case %d, %s, is %s, want %s", i, c.Name, got, want)
		}
	}
	c := suite.Cases[5]
	if c.Class != "Conv2D" || c.Name != "net/conv1:output:1" || c.Failure.Type != "FAIL" ||
		c.Failure.Message != "CALC_ERROR (high confidence): mean_rel of the inputs 0.001 < 0.1, of the output 4.2 > 1" {
		t.Errorf("case is %+v, failure %+v", c, c.Failure)
	}
	for _, want := range []string{"2 of 4 elements are errors (50 %), first at 0 (0, 0): reference 1, NPU 1.3",
		"at 3 (1, 1): reference 0, NPU -0.006, abs 0.006, rel NA", "reference: cpu/net/conv1.npy"} {
		if !strings.Contains(c.Failure.Body, want) {
			t.Errorf("no %q in %s", want, c.Failure.Body)
		}
	}
	properties := map[string]string{}
	for _, p := range c.Properties.Property {
		properties[p.Name] = p.Value
	}
	if properties["max_abs"] != "0.3" || properties["cosine"] != "0.993648" || properties["sqnr_db"] != "NA" || properties["errors"] != "2" {
		t.Errorf("properties are %v", properties)
	}
	if warned := suite.Cases[1]; !strings.Contains(warned.Output, "MARGIN") {
		t.Errorf("the warning is %q", warned.Output)
	}
	if lost := suite.Cases[2]; lost.Class != "net" || lost.Skipped.Message != "UNMATCHED_REF: the NPU run has no such tensor" || lost.Properties != nil {
		t.Errorf("case is %+v, %+v", lost, lost.Skipped)
	}
}

func TestCompareJUnitBaseline(t *testing.T) {
	r := reportOf(failing("known"), failing("worse"), failing("new"))
	r.Rows[0].Known, r.Rows[1].Known = true, true
	r.Baseline = &record.Baseline{Known: []int{0, 1}, Worse: []int{1}, New: []int{2}}
	suite := junit(t, r).Suite
	if suite.Skipped != 1 || suite.Failures != 2 || suite.Cases[0].Skipped == nil || !strings.HasPrefix(suite.Cases[0].Skipped.Message, "known to the baseline: CALC_ERROR") {
		t.Errorf("skipped %d, failures %d, %+v", suite.Skipped, suite.Failures, suite.Cases[0].Skipped)
	}
}

func TestCompareJUnitNames(t *testing.T) {
	for _, name := range nasty {
		suite := junit(t, nastyReport(name)).Suite
		if len(suite.Cases) != 15 {
			t.Errorf("%.20q: %d cases", name, len(suite.Cases))
		}
	}
	row := passing("a\x00b\nc")
	row.OpType = ""
	if c := junit(t, reportOf(row)).Suite.Cases[0]; c.Name != "a\\x00b\nc:output:0" || c.Class != "compare" {
		t.Errorf("name %q, class %q", c.Name, c.Class)
	}
}
