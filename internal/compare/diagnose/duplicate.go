package diagnose

import (
	"slices"

	"dumptool/internal/finding"
	"dumptool/internal/lang"
)

// minStale is the smallest RED of a tensor that may be a copy of another tensor.
const minStale = 0.1

// digest identifies the elements of a tensor.
type digest struct {
	crc   uint32
	sum   uint64
	count int64
}

// The sides of a row.
const (
	refSide = iota
	npuSide
)

// digest returns the digest of one side of a compared row.
func (r *row) digest(side int) digest {
	if res := r.result(); side == refSide {
		return digest{res.RefCRC, res.RefSum, res.Total}
	}
	return digest{r.result().NPUCRC, r.result().NPUSum, r.result().Total}
}

// findDuplicates finds failing rows whose NPU tensor equals the tensor of another operator.
func (n *dataFlow) findDuplicates() {
	same := make(map[digest][]*row) // only digests of rows that may be duplicates
	for i := range n.rows {
		if r := &n.rows[i]; r.mayBeDuplicate() {
			same[r.digest(npuSide)] = nil
		}
	}
	for i := range n.rows {
		if r := &n.rows[i]; len(same) > 0 && r.isCompared {
			if rows, asked := same[r.digest(npuSide)]; asked {
				same[r.digest(npuSide)] = append(rows, r)
			}
		}
	}
	for i := range n.rows {
		r := &n.rows[i]
		if !r.mayBeDuplicate() {
			continue
		}
		if others := r.selectSameDigest(same[r.digest(npuSide)]); len(others) > 0 {
			r.duplicates = r.duplicateFinding(others)
		}
	}
}

// mayBeDuplicate reports whether a failing row may hold another tensor. Equality of constant
// tensors proves nothing.
func (r *row) mayBeDuplicate() bool {
	if !r.hasFailed() || !r.isCompared {
		return false
	}
	res := r.result()
	return res.StrictErrors() > 0 && !(res.RED.IsDefined() && res.RED.Value() < minStale) && (res.Complex || res.NPU.Min.Value() != res.NPU.Max.Value())
}

// selectSameDigest returns the rows of other operators with the same NPU digest but another reference. If a tensor is a stale
// copy, the original agrees with its own reference.
func (r *row) selectSameDigest(same []*row) []*row {
	return slices.DeleteFunc(slices.Clone(same), func(other *row) bool {
		return other.operator == r.operator || other.digest(refSide) == r.digest(refSide) && other.source.RefDType == r.source.RefDType
	})
}

// duplicateFinding returns the finding for an NPU tensor that equals tensors of other rows.
func (r *row) duplicateFinding(others []*row) []finding.Finding {
	names := make([]string, len(others))
	for i, other := range others {
		names[i] = other.source.Name()
	}
	found := newFindings(finding.Duplicate, finding.Medium, lang.Say("the NPU tensor equals the NPU tensor of %s (CRC-32C %08x), but the references of the two differ (stale buffer?)", joinFirstNames(names), r.result().NPUCRC))
	found[0].Facts = found[0].Facts.Int(finding.OtherRow, int64(others[0].index))
	return found
}

// insertFindings inserts more, findings of one pattern, at the position of the pattern in the table, and drops the later
// findings, which the pattern explains. It returns findings unchanged if an earlier finding explains the pattern.
func insertFindings(findings, more []finding.Finding) []finding.Finding {
	if len(more) == 0 {
		return findings
	}
	table := listPatterns()
	place := func(code finding.Code) int {
		return slices.IndexFunc(table, func(p pattern) bool { return p.code == code })
	}
	at := place(more[0].Code)
	later := slices.IndexFunc(findings, func(f finding.Finding) bool { return place(f.Code) > at })
	if later < 0 {
		later = len(findings)
	}
	if !table[at].applies(findings[:later]) {
		return findings
	}
	return slices.Concat(findings[:later], more)
}
