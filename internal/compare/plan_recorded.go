package compare

import (
	"strconv"

	"dumptool/internal/compare/pair"
)

// nameRecorded gives the tensors of files of torch.utils.dumper what they have in
// common with their partners, if both sides are such files.
func (p *Plan) nameRecorded(refs, npus []pair.Tensor, opt *pair.Options) {
	ref, refAt := p.ref.recorded(refs)
	npu, npuAt := p.npu.recorded(npus)
	if opt.Recorded = len(ref) > 0 && len(npu) > 0; !opt.Recorded {
		return
	}
	for i, at := range refAt {
		refs[at].Recorded = "ref " + strconv.Itoa(i)
	}
	for i, partner := range pair.MatchRecorded(ref, npu, opt.Map) {
		t := &npus[npuAt[i]]
		if t.Recorded = "npu " + strconv.Itoa(i); partner >= 0 {
			t.Recorded = "ref " + strconv.Itoa(partner)
		}
	}
}

// recorded are the tensors that torch.utils.dumper has recorded, and where they are
// among the others.
func (s *Side) recorded(tensors []pair.Tensor) (all []pair.Recorded, at []int) {
	for i := range tensors {
		if r := s.Tensors[tensors[i].ID].Recorded; r != nil {
			all, at = append(all, *r), append(at, i)
		}
	}
	return all, at
}
