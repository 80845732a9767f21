// Package statistics judges rows of a round for which only statistics are known: max, min, mean and norm of each
// tensor, or a digest. Start at Judge.
//
// The differences of these four numbers are lower bounds of the error of a tensor. So they are compared with the
// noise that the tensor may have: the root mean square of its differences relative to the reference. Noise is
// propagated from operator to operator. expect.go predicts it from the class of the operator, outputs.go lowers it to
// the noise that the output's own numbers show. Producers are found in the reference alone: an input with the
// statistics of an earlier output is this output (inputs.go). Tensors that are equal in the reference, such as
// copies, must be equal on the NPU.
//
// A tensor without a producer must be equal within the rounding of the coarser type, else the runs did not start
// alike. Tensors that depend on such a start, on an origin, on other random numbers or on another choice among near
// ties are tainted: only NaN, zeros and constants are judged there.
package statistics

import (
	"slices"
	"strconv"
	"sync"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/optype"
)

// The kinds of evidence of rows where the runs did not start alike. StartUpdate is a parameter of a later step whose
// difference training does not explain.
const (
	StartInput     = "input"
	startParameter = "parameter"
	StartUpdate    = "update"
)

// trainedKind is the kind of evidence of a parameter that differs by no more than training explains.
const trainedKind = "TRAINED"

// Known holds facts about a round that its rows do not show.
type Known struct {
	Unbounded []int // rows whose elements were compared, but whose error has no bound; ascending
	Partial   bool  // options leave operators out
	LaterStep bool  // an earlier step was dumped
	Past      record.Past
	// Peers are the rows of other ranks from which the results of communications were computed.
	Peers record.Peers
}

// Judge sets the verdicts on rows that are judged by statistics or digests. Its findings list where the runs did not
// start alike, then the operators that added an error, each in the order of the reference. Rows whose elements were
// compared keep their verdicts and tell how noisy their tensors are, except unbounded rows. noVerdict says why the rows
// cannot be judged, empty if they can.
func Judge(rows []record.Row, known Known) (f record.Findings, noVerdict lang.Sentence) {
	j := newJudge(rows)
	j.past, j.peers = &known.Past, &known.Peers
	j.typical = sync.OnceValue(j.typicalDifference)
	j.isPartial = sync.OnceValue(func() bool { return known.Partial || !known.LaterStep && j.isIncomplete() })
	for _, v := range j.values {
		_, isUnbounded := slices.BinarySearch(known.Unbounded, v.index)
		v.isMeasured = v.row.Result != nil && !isUnbounded
	}
	judged := slices.DeleteFunc(slices.Clone(j.values), func(v *value) bool { return v.isMeasured || !v.isPaired() })
	for _, v := range judged {
		v.row.Verdict = record.Verdict{Status: record.Pass, Inputs: v.row.Inputs}
	}
	if j.hasOnlyDigests() {
		j.judgeByDigests()
	} else {
		j.walk()
	}
	for _, v := range judged {
		v.conclude()
		v.setSources()
	}
	return j.findings(rows), j.noVerdict
}

// setSources sets the rows that a tensor comes from, if they are known: of an input the row of its producer, of an output
// the producers of the operator's inputs, or the inputs themselves if they have no producer.
func (v *value) setSources() {
	var from []int
	switch {
	case v.from != nil:
		from = []int{v.from.index}
	case !v.kind().IsInput():
		for _, in := range v.op.ins {
			i := in.index
			if in.from != nil {
				i = in.from.index
			}
			if i != v.index && !slices.Contains(from, i) {
				from = append(from, i)
			}
		}
	}
	if from != nil {
		v.row.Inputs = from
	}
}

// findings returns the starts and origins as indices of rows, the last good row before the first one, and the first
// row with NaN.
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
		if i < f.FirstBad && row.Status == record.Pass && row.IsJudged() {
			f.LastGood = i
		}
		if f.FirstNaN < 0 && finding.Has(row.Reasons, finding.NPUNaN) {
			f.FirstNaN = i
		}
	}
	return f
}

// measuredNoise returns the noise and the taint of a tensor whose elements were compared.
func (v *value) measuredNoise() (float64, taint) {
	switch {
	case v.row.IsOrigin() || v.row.Downstream:
		return 1, origin
	case v.row.Result.RED.IsDefined():
		return min(1, v.row.Result.RED.Value()), clean
	}
	return 0, clean
}

// set sets the status of the row of a tensor, with one reason.
func (v *value) set(status record.Status, code finding.Code, confidence finding.Confidence, why lang.Sentence) {
	v.row.Status, v.row.Reasons = status, []finding.Finding{{Code: code, Confidence: confidence, Evidence: why}}
}

// fail marks the row of a tensor as an origin or, with the code StartedApart, as a place where the runs did not start
// alike.
func (v *value) fail(code finding.Code, kind string, confidence finding.Confidence, why lang.Sentence) {
	v.set(record.Fail, code, confidence, why)
	v.setEvidence(kind)
	v.row.Evidence.Level, v.row.Evidence.Start = record.IsOrigin, code == finding.StartedApart
}

// setEvidence sets the evidence of a row. kind names the form of the error, or says why a difference is no fault.
func (v *value) setEvidence(kind string) { v.row.Evidence = v.evidence(kind) }

// evidence describes the error of a tensor.
func (v *value) evidence(kind string) *record.Evidence {
	size := v.ref.rms()
	return &record.Evidence{Class: v.op.noise.String(), Kind: kind, RMS: jsonpos.Float(v.z * size), RefRMS: jsonpos.Float(size),
		Expected: jsonpos.Float(v.expected * size), Score: jsonpos.Float(v.score), Lambda: jsonpos.Float(v.noise), FedBy: []int{}, Judged: v.isJudged}
}

// taintCodes are the codes of rows that differ because of earlier tensors.
var taintCodes = map[taint]finding.Code{start: finding.StartedApart, random: finding.Random, flip: finding.Flip}

// conclude sets the status of a row, or completes the evidence if the row is already an origin or a start.
func (v *value) conclude() {
	row := v.row
	if e := row.Evidence; row.Status == record.Fail {
		e.Lambda, e.Score, e.Expected, e.Judged = jsonpos.Float(v.noise), jsonpos.Float(v.score), jsonpos.Float(v.expected*v.ref.rms()), v.isJudged
		return
	} else if e == nil {
		v.setEvidence("")
	}
	if v.isSame || v.taint == unread {
		return
	}
	switch code := taintCodes[v.taint]; {
	case row.Evidence.Kind == string(finding.Drifted) || row.Evidence.Kind == trainedKind:
		v.set(record.Warn, finding.Drifted, finding.Medium, v.text())
	case !v.ref.hasRange() && !v.hasComparableDigests() && v.ref.dtype != v.npu.dtype:
		v.set(record.Warn, finding.DTypeDiffers, finding.High, lang.Say("%s, reference %s: digests of different types cannot be compared", v.npu.dtype, v.ref.dtype))
	case !v.ref.hasRange() && hasOtherDigestKind(v.ref, v.npu):
		v.set(record.Warn, finding.DigestDiffers, finding.Low, lang.Say("digests of different kinds cannot be compared: %s", v.text()))
	case code != "":
		v.set(record.Warn, code, finding.Medium, v.text())
	case v.taint == origin && (v.hasOtherShape || v.isLost || !v.ref.hasRange() || v.z > 3*max(v.expected, v.rounding(), resolved)):
		v.set(record.Fail, finding.LayerInputBad, finding.Medium, v.text())
		row.Downstream = true
	case !v.ref.hasRange() && v.hasComparableDigests(): // bits differ between devices without a fault
		v.set(record.Warn, finding.DigestDiffers, finding.Low, v.text())
	}
}

// formatNumber formats a number with 6 digits.
func formatNumber(m metrics.Metric) string {
	if !m.IsDefined() {
		return "-"
	}
	return strconv.FormatFloat(m.Value(), 'g', 6, 64)
}

// The two runs are repeats on one kind of device if at least this share (0 to 1) of the operators with equal inputs
// have equal outputs, and at least minRepeats operators have equal inputs. Only between repeats is a digest that
// differs a fault.
const (
	repeatShare = 0.95
	minRepeats  = 20
)

// hasOnlyDigests reports whether the reference has digests and no statistics of floating-point tensors.
func (j *judge) hasOnlyDigests() bool {
	digests := false
	for _, v := range j.values {
		if v.isFloat() && v.ref.hasRange() {
			return false
		}
		digests = digests || v.ref != nil && v.ref.Digest != ""
	}
	return digests
}

// digests judges by digests alone: a tensor is equal or not. An output that differs although the inputs are equal is
// a candidate for an origin.
type digests struct {
	*judge
	hasDifference     bool // an output so far differs
	computed          int  // operators that compute, with equal inputs
	equal             int  // operators with equal outputs
	hasTypeDifference bool // a type differs
	candidates        []*value
}

// judgeByDigests judges all operators by digests.
func (j *judge) judgeByDigests() {
	d := &digests{judge: j}
	for _, o := range j.ops {
		if o.refCall >= 0 && o.hasPair {
			d.addDigests(o)
		}
	}
	repeat := d.computed >= minRepeats && float64(d.equal) >= repeatShare*float64(d.computed)
	confidence := finding.Low
	if repeat {
		confidence = finding.Medium
	}
	for _, v := range d.candidates {
		if repeat || !v.ref.isFloat() || v.op.noise == optype.NoiseMove {
			j.reportOrigin(v, string(finding.DigestDiffers), confidence, lang.Say("the digests of the operator's inputs are equal on both sides, but its output differs: %s", v.text()))
		}
	}
	switch {
	case len(j.origins)+len(j.starts) > 0:
	case d.computed == 0 && d.hasTypeDifference:
		j.noVerdict = lang.Say("digests of different types or kinds cannot be compared; dump statistics instead")
	case len(d.candidates) > 0:
		j.noVerdict = lang.Say("bits differ from %s on, as is normal between devices (%d of %d outputs of equal inputs are equal); dump statistics instead", d.candidates[0].op.name, d.equal, d.computed)
	}
	if len(j.origins) == 0 {
		return
	}
	for _, v := range j.values {
		if v.op.noise == optype.NoiseGarbage || v.place.Unread {
			v.taint = unread
		} else if v.isPaired() && v.taint == clean && !v.isSame && v.op.refCall >= j.origins[0].op.refCall {
			v.taint = origin
		}
	}
}

// hasComparableDigests reports whether the digests of both sides can be compared: they are of one kind, and of elements of one
// type.
func (v *value) hasComparableDigests() bool {
	return v.isPaired() && hasSameDigestKind(v.ref, v.npu) && v.ref.dtype == v.npu.dtype
}

// hasSameDigestKind reports whether two tensors have digests of one kind, such as MD5: digests of one length.
func hasSameDigestKind(a, b *sideStatistics) bool {
	return a.Digest != "" && len(a.Digest) == len(b.Digest)
}

// hasOtherDigestKind reports whether two tensors have digests of different kinds.
func hasOtherDigestKind(a, b *sideStatistics) bool {
	return a.Digest != "" && b.Digest != "" && !hasSameDigestKind(a, b)
}

// producersOf returns the outputs whose reference digest is the tensor's. differ reports whether any such output differs
// on the NPU.
func (d *digests) producersOf(v *value) (makers []*value, differ bool) {
	for _, p := range d.outputs[v.ref.memoryKey()] {
		if p.ref.Digest == v.ref.Digest {
			makers, differ = append(makers, p), differ || !p.isSame
		}
	}
	return makers, differ
}

func (d *digests) addDigests(o *op) {
	if forward := d.byName[o.call.InDirection(msprobe.Forward)]; o.backward {
		o.bad = forward != nil && forward.bad || (forward == nil || !forward.hasPair) && d.hasDifference
	}
	seen := 0
	for _, v := range o.ins {
		d.hasTypeDifference = d.hasTypeDifference || v.isPaired() && (v.ref.dtype != v.npu.dtype || hasOtherDigestKind(v.ref, v.npu))
		if !v.hasComparableDigests() {
			continue
		}
		seen++
		if !v.isSame && o.noise != optype.NoiseGarbage && !v.place.Unread {
			o.bad = true
			d.addDifferentInput(v)
		}
	}
	bad := o.bad || (o.gradients || seen == 0) && d.hasDifference
	for _, v := range o.outs {
		if !v.hasComparableDigests() {
			continue
		}
		_, passed := d.producersOf(v)
		d.hasDifference = d.hasDifference || !v.isSame
		d.outputs.add(v)
		if passed || !v.isSame && o.module && d.innerTaint(o) != clean {
			continue
		}
		if !v.isSame {
			d.taintModules(o, origin)
		}
		switch {
		case bad || o.noise == optype.NoiseGarbage:
		case o.noise == optype.NoiseRandom && !v.isSame:
			v.taint = random
			v.setEvidence(string(finding.Random))
		default:
			if o.noise != optype.NoiseMove && v.isFloat() {
				if d.computed++; v.isSame {
					d.equal++
				}
			}
			if !v.isSame {
				o.bad, d.candidates = true, append(d.candidates, v)
			}
		}
	}
}

// addDifferentInput handles an input whose digest differs.
func (d *digests) addDifferentInput(v *value) {
	made, differ := d.producersOf(v)
	parameter := v.isParameter()
	switch {
	case len(made) > 0 && !differ:
		d.reportOrigin(v, string(finding.Memory), finding.Medium, lang.Say("the reference reads the output of %s here; the NPU reads another tensor", made[len(made)-1].op.name))
	case len(made) > 0 || v.op.backward:
	case !parameter && v.isFloat() && (d.computed > 0 || d.hasTypeDifference): // produced between the calls that were dumped
	case parameter || !d.hasDifference:
		d.judgeStart(v, parameter)
	}
}
