package statistics

import (
	"slices"
	"strconv"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
)

// The kinds of evidence of rows where the runs did not start alike, and of rows that other
// random numbers or another choice explain.
const (
	startInput     = "input"
	startParameter = "parameter"
)

// Judge sets the verdicts on the rows of a round that are judged by statistics or digests,
// and returns where they went wrong: first where the runs did not start alike, then where
// operators added an error, in the order of the reference. Rows whose elements were compared
// keep their verdicts and say how noisy their tensors are. noVerdict says why nothing can be
// said of the rows, where it cannot.
func Judge(rows []record.Row) (f record.Findings, noVerdict lang.Sentence) {
	j := newJudge(rows)
	judged := slices.DeleteFunc(slices.Clone(j.all), func(v *value) bool { return v.measured() || !v.paired() })
	for _, v := range judged {
		v.row.Verdict = record.Verdict{Status: record.Pass, Inputs: v.row.Inputs}
	}
	if j.onlyDigests() {
		j.byDigests()
	} else {
		j.walk()
	}
	for _, v := range judged {
		v.conclude()
	}
	return j.findings(rows), j.noVerdict
}

// findings are the starts and origins.
func (j *judge) findings(rows []record.Row) record.Findings {
	f := record.NoFindings()
	for _, v := range slices.Concat(j.starts, j.origins) {
		if !slices.Contains(f.Origins, v.index) {
			f.Origins = append(f.Origins, v.index)
		}
	}
	if len(f.Origins) == 0 {
		return f
	}
	f.FirstBad, f.FirstDamaged = f.Origins[0], f.Origins[0]
	for i := range rows {
		row := &rows[i]
		if i < f.FirstBad && row.Status == record.Pass && row.Judged() {
			f.LastGood = i
		}
		if f.FirstNaN < 0 && record.Has(row.Reasons, record.NPUNaN) {
			f.FirstNaN = i
		}
	}
	return f
}

// statisticsOf are those of a row: those that it has, else those of its elements.
func statisticsOf(row *record.Row) *record.Statistics {
	if row.Statistics != nil || row.Result == nil {
		return row.Statistics
	}
	side := func(s *metrics.SideStats) record.SideStatistics {
		return record.SideStatistics{Max: s.Max, Min: s.Min, Mean: s.Mean, Norm: s.L2}
	}
	return &record.Statistics{Ref: side(&row.Result.Ref), NPU: side(&row.Result.NPU)}
}

// measured reports whether the elements of a tensor were compared.
func (v *value) measured() bool { return v.row.Result != nil }

// seenNoise is the noise of a tensor whose elements were compared.
func (v *value) seenNoise() (float64, taint) {
	switch {
	case v.row.IsOrigin() || v.row.Downstream:
		return 1, origin
	case v.row.Result.RED.Defined:
		return min(1, v.row.Result.RED.Value), clean
	}
	return 0, clean
}

// set sets the status of the row of a tensor, for one reason.
func (v *value) set(status record.Status, code record.Code, confidence record.Confidence, why lang.Sentence) {
	v.row.Status, v.row.Reasons = status, []record.Finding{{Code: code, Confidence: confidence, Evidence: why}}
}

// fail makes the row of a tensor one where the runs did not start alike, or an origin.
func (v *value) fail(code record.Code, kind string, confidence record.Confidence, why lang.Sentence) {
	v.set(record.Fail, code, confidence, why)
	v.note(kind)
	v.row.Evidence.Level, v.row.Evidence.Start = record.IsOrigin, code == record.StartedApart
}

// note says of the row of a tensor why it is no fault that it differs.
func (v *value) note(kind string) { v.row.Evidence = v.evidence(kind) }

// evidence is what is known of an output, and of an input that is bad.
func (v *value) evidence(kind string) *record.Evidence {
	size := v.ref.rms()
	return &record.Evidence{Class: v.op.noise.String(), Kind: kind, RMS: metrics.Float(v.z * size), RefRMS: metrics.Float(size),
		Expected: metrics.Float(v.expected * size), Score: metrics.Float(v.score), Lambda: metrics.Float(v.noise), FedBy: []int{}, Judged: v.judged}
}

// taintCodes are the codes of rows that differ by what came before them.
var taintCodes = map[taint]record.Code{start: record.StartedApart, random: record.Random, flip: record.Flip}

// conclude sets the status of a row that is no origin and no start.
func (v *value) conclude() {
	row := v.row
	if e := row.Evidence; row.Status == record.Fail {
		e.Lambda, e.Score, e.Expected, e.Judged = metrics.Float(v.noise), metrics.Float(v.score), metrics.Float(v.expected*v.ref.rms()), v.judged
		return
	} else if e == nil {
		v.note("")
	}
	if v.same || v.taint == unread {
		return
	}
	switch code := taintCodes[v.taint]; {
	case row.Evidence.Kind == string(record.Drifted):
		v.set(record.Warn, record.Drifted, record.Medium, v.text())
	case !v.ref.known() && !v.comparable() && v.ref.dtype != v.npu.dtype:
		v.set(record.Warn, record.DTypeDiffers, record.High, lang.Sayf("%s, reference %s: digests of different types cannot be compared", "%s，标杆 %s：类型不同，摘要无法比较", v.npu.dtype, v.ref.dtype))
	case !v.ref.known() && otherKind(v.ref, v.npu):
		v.set(record.Warn, record.DigestDiffers, record.Low, lang.Sayf("digests of different kinds cannot be compared: %s", "不同种类的摘要无法比较：%s", v.text()))
	case code != "":
		v.set(record.Warn, code, record.Medium, v.text())
	case v.taint == origin && (v.shape || v.lost || !v.ref.known() || v.z > 3*max(v.expected, v.rounding(), resolved)):
		v.set(record.Fail, record.LayerInputBad, record.Medium, v.text())
		row.Downstream = true
	case !v.ref.known() && v.comparable(): // as digests do between devices
		v.set(record.Warn, record.DigestDiffers, record.Low, v.text())
	}
}

// short is a number in few digits.
func short(m metrics.Metric) string {
	if !m.Defined {
		return "-"
	}
	return strconv.FormatFloat(m.Value, 'g', 6, 64)
}
