package diagnose

import (
	"slices"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
)

// minStale is the RED from which a tensor may be another one.
const minStale = 0.1

// digest identifies the elements of a tensor.
type digest struct {
	crc   uint32
	sum   uint64
	count int64
}

func (r *row) refDigest() digest {
	res := r.result()
	return digest{res.RefCRC, res.RefSum, res.Total}
}

func (r *row) npuDigest() digest {
	res := r.result()
	return digest{res.NPUCRC, res.NPUSum, res.Total}
}

// findDuplicates adds NPU tensors that are those of other operators to the
// patterns of failing rows, and NaN that the model makes.
func (n *network) findDuplicates() {
	same := make(map[digest][]*row)
	for i := range n.rows {
		if r := &n.rows[i]; r.Compared() && r.result().Total > 0 {
			same[r.npuDigest()] = append(same[r.npuDigest()], r)
		}
	}
	for i := range n.rows {
		if r := &n.rows[i]; r.failed() && r.Compared() {
			text, other := r.duplicate(same[r.npuDigest()])
			found := single(record.Duplicate, record.Medium, text)
			for k := range found {
				found[k].Facts = found[k].Facts.Int(record.OtherRow, int64(other))
			}
			r.Patterns = inserted(r.Patterns, found)
			r.Patterns = record.Merge(r.Patterns, single(record.ModelNaN, record.High, modelNaN(r.result())))
		}
	}
}

// duplicate is the evidence that the NPU tensor is one of those with its digest.
// Equal tensors of a single value prove nothing; and of a stale tensor and the one
// that it was, the second agrees with its reference.
func (r *row) duplicate(same []*row) (text lang.Sentence, first int) {
	res := r.result()
	if res.StrictErrors() == 0 || res.RED.Defined && res.RED.Value < minStale || !res.Complex && res.NPU.Min.Value == res.NPU.Max.Value {
		return lang.Sentence{}, -1
	}
	var others []string
	for _, other := range same {
		if other.Op != r.Op && (other.refDigest() != r.refDigest() || other.RefDType != r.RefDType) {
			if others == nil {
				first = other.index
			}
			others = append(others, other.Name())
		}
	}
	if len(others) == 0 {
		return lang.Sentence{}, -1
	}
	return lang.Sayf("the NPU tensor equals that of %s (CRC-32C %08x), the references differ (stale buffer?)",
		"NPU 张量与 %s 的相同(CRC-32C %08x)，而标杆不同(残留的旧 buffer？)", someOf(others), res.NPUCRC), first
}

// inserted adds findings of one pattern to those of a pair at the place that the
// table of patterns gives it, unless an earlier one explains it. It explains the
// later ones.
func inserted(findings, more []record.Finding) []record.Finding {
	if len(more) == 0 {
		return findings
	}
	table := patterns()
	place := func(code record.Code) int {
		return slices.IndexFunc(table, func(p pattern) bool { return p.code == code })
	}
	at := place(more[0].Code)
	later := slices.IndexFunc(findings, func(f record.Finding) bool { return place(f.Code) > at })
	if later < 0 {
		later = len(findings)
	}
	if !table[at].applies(findings[:later]) {
		return findings
	}
	return slices.Concat(findings[:later], more)
}
