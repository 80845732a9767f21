package report

import (
	"encoding/xml"
	"io"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/compare"
)

// junitSuites is the root of a JUnit report.
type junitSuites struct {
	XMLName  xml.Name   `xml:"testsuites"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Time     string     `xml:"time,attr"`
	Suite    junitSuite `xml:"testsuite"`
}

// junitSuite is the run.
type junitSuite struct {
	Name       string           `xml:"name,attr"`
	Tests      int              `xml:"tests,attr"`
	Failures   int              `xml:"failures,attr"`
	Errors     int              `xml:"errors,attr"`
	Skipped    int              `xml:"skipped,attr"`
	Time       string           `xml:"time,attr"`
	Properties *junitProperties `xml:"properties"`
	Cases      []junitCase      `xml:"testcase"`
}

// junitCase is a row.
type junitCase struct {
	Class      string           `xml:"classname,attr"`
	Name       string           `xml:"name,attr"`
	Time       string           `xml:"time,attr"`
	Properties *junitProperties `xml:"properties"`
	Failure    *junitOutcome    `xml:"failure"`
	Error      *junitOutcome    `xml:"error"`
	Skipped    *junitOutcome    `xml:"skipped"`
	Output     string           `xml:"system-out,omitempty"`
}

// junitProperties are named values.
type junitProperties struct {
	Property []junitProperty `xml:"property"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// junitOutcome says why a case did not pass.
type junitOutcome struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Body    string `xml:",chardata"`
}

// WriteCompareJUnit writes the rows as test cases. FAIL is a failure; errors and
// shapes, types and names that do not fit are errors; rows that were not to be
// compared, or only in part, and failures that the baseline knows are skipped.
// Times are 0. Characters that XML cannot hold become U+FFFD.
func WriteCompareJUnit(w io.Writer, r *compare.Report) error {
	suite := junitSuite{Name: "dumptool compare", Tests: len(r.Rows), Time: "0", Cases: make([]junitCase, len(r.Rows)),
		Properties: &junitProperties{[]junitProperty{{"profile", r.Profile}, {"nan_policy", r.NaNPolicy}, {"tol_mode", r.TolMode},
			{"order_source", r.OrderSource}, {"verdict", CompareVerdict(r)}}}}
	worse := map[int]bool{}
	if r.Baseline != nil {
		for _, i := range r.Baseline.Worse {
			worse[i] = true
		}
	}
	for i := range r.Rows {
		c := junitCaseOf(&r.Rows[i], worse[i])
		switch {
		case c.Failure != nil:
			suite.Failures++
		case c.Error != nil:
			suite.Errors++
		case c.Skipped != nil:
			suite.Skipped++
		}
		suite.Cases[i] = c
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	root := junitSuites{Name: suite.Name, Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors, Skipped: suite.Skipped, Time: "0", Suite: suite}
	if err := enc.Encode(root); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// junitCaseOf makes the case of a row.
func junitCaseOf(row *compare.Row, worse bool) junitCase {
	c := junitCase{Class: className(row), Name: row.Name(), Time: "0", Properties: junitMetrics(row)}
	outcome := &junitOutcome{Message: firstReason(row), Type: string(row.Status), Body: junitBody(row)}
	switch row.Status {
	case compare.Pass:
	case compare.Warn:
		c.Output = outcome.Body
	case compare.Fail:
		if row.Known && !worse {
			outcome.Message = "known to the baseline: " + outcome.Message
			c.Skipped = outcome
		} else {
			c.Failure = outcome
		}
	case compare.Skip, compare.UnmatchedRef, compare.UnmatchedNPU, compare.Partial:
		c.Skipped = outcome
	default:
		c.Error = outcome
	}
	return c
}

// className groups rows: by the operator's type, else the outermost scope of its
// name.
func className(row *compare.Row) string {
	if row.OpType != "" {
		return row.OpType
	}
	if scope, _, ok := strings.Cut(strings.TrimPrefix(row.Op, "/"), "/"); ok && scope != "" {
		return scope
	}
	return "compare"
}

// firstReason is the message of a case: the first reason, else the status.
func firstReason(row *compare.Row) string {
	if lines := reasonLines(row); len(lines) > 0 {
		return lines[0]
	}
	if !row.Compared() {
		return string(row.Status) + ": " + whyNot(row)
	}
	return string(row.Status) + ": " + errorsText(row)
}

// junitBody is the census of a row.
func junitBody(row *compare.Row) string {
	lines := slices.Concat([]string{string(row.Status) + " " + rowTitle(row)}, reasonLines(row), fileLines(row))
	if row.Err != nil {
		lines = append(lines, "error: "+row.Err.Error())
	}
	if !row.Compared() {
		return strings.Join(lines, "\n")
	}
	lines = append(lines, "shape: "+row.Shape.String(), errorsText(row))
	for i := range row.Result.Worst {
		e := &row.Result.Worst[i]
		lines = append(lines, "at "+strconv.FormatInt(e.Offset, 10)+" ("+joinInts(compare.Coordinates(row.Shape, e.Offset), ", ")+"): reference "+
			fullText(e.Ref)+", NPU "+fullText(e.NPU)+", abs "+differenceText(e.Abs)+", rel "+differenceText(e.Rel))
	}
	return strings.Join(lines, "\n")
}

// junitMetrics are the metrics of a row as properties, nil if it has none.
func junitMetrics(row *compare.Row) *junitProperties {
	if !row.Compared() {
		return nil
	}
	r := row.Result
	return &junitProperties{[]junitProperty{
		{"status", string(row.Status)},
		{"total", strconv.FormatInt(r.Total, 10)},
		{"errors", strconv.FormatInt(row.Errors, 10)},
		{"atol", compare.FormatFloat(row.Limits.Atol)},
		{"rtol", compare.FormatFloat(row.Limits.Rtol)},
		{"max_abs", metricText(r.MaxAbs.Metric)},
		{"mean_abs", metricText(r.MeanAbs)},
		{"rmse", metricText(r.RMSE)},
		{"max_rel", metricText(r.MaxRel.Metric)},
		{"mean_rel", metricText(r.MeanRel)},
		{"cosine", metricText(r.Cosine)},
		{"pearson", metricText(r.Pearson)},
		{"red", metricText(r.RED)},
		{"sqnr_db", metricText(r.SQNR)},
		{"class_mismatch", strconv.FormatInt(r.Mismatch.Count, 10)},
	}}
}
