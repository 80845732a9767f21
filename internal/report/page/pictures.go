package page

import (
	"encoding/base64"

	"dumptool/internal/compare/metrics"
)

// pictures are what the charts of a row show.
type pictures struct {
	Values     *sides    `json:"values,omitempty"`
	Inner      *sides    `json:"inner,omitempty"` // of a narrow range with nearly all values
	Joint      *density  `json:"joint,omitempty"`
	InnerJoint *density  `json:"inner_joint,omitempty"`
	Maps       []heatMap `json:"maps,omitempty"`
	ULP        []int64   `json:"ulp,omitempty"`
}

// sides are the values of both sides in one grid.
type sides struct {
	Range numbers `json:"range"`
	Ref   []int64 `json:"ref"`
	NPU   []int64 `json:"npu"`
}

// density counts pairs, a byte each by the logarithm of the count.
type density struct {
	Range numbers `json:"range"`
	Bins  int     `json:"n"`
	Max   int64   `json:"max"`
	Cells cells   `json:"cells"`
}

// heatMap shows where differences are, a byte each by the logarithm of mean |d|.
type heatMap struct {
	Axes   [2]int   `json:"axes"` // of rows and columns
	Folds  [2]int64 `json:"folds"`
	Size   [2]int   `json:"size"`
	Log    numbers  `json:"log"` // log10 of the smallest and the largest mean
	Mean   cells    `json:"mean"`
	Errors cells    `json:"errors"`
}

// cells are bytes of which most are 0. In base64 each 0 is followed by the number of
// those that stand together, up to 255.
type cells []byte

// MarshalText implements encoding.TextMarshaler.
func (c cells) MarshalText() ([]byte, error) {
	packed := make([]byte, 0, len(c))
	for i := 0; i < len(c); i++ {
		packed = append(packed, c[i])
		if c[i] != 0 {
			continue
		}
		first := i
		for i+1 < len(c) && c[i+1] == 0 && i-first < 254 {
			i++
		}
		packed = append(packed, byte(i-first+1))
	}
	return base64.StdEncoding.AppendEncode(nil, packed), nil
}

func picturesOf(p *metrics.Pictures) *pictures {
	j := &pictures{Values: sidesOf(&p.Values), Inner: sidesOf(p.Inner), Joint: densityOf(&p.Joint), InnerJoint: densityOf(p.InnerJoint), ULP: p.ULP}
	for i := range p.Maps {
		m := &p.Maps[i]
		j.Maps = append(j.Maps, heatMap{[2]int{m.RowAxis, m.ColumnAxis}, [2]int64{m.RowFold, m.ColumnFold}, [2]int{m.Rows, m.Columns}, numbers{of(m.LogLow), of(m.LogHigh)}, m.Mean, m.Errors})
	}
	return j
}

func sidesOf(s *metrics.SideBins) *sides {
	if s == nil || s.Count == 0 {
		return nil
	}
	return &sides{numbers{of(s.Low), of(s.High)}, s.Ref, s.NPU}
}

func densityOf(d *metrics.Density) *density {
	if d == nil || d.Count == 0 {
		return nil
	}
	return &density{numbers{of(d.Low), of(d.High)}, d.Count, d.Max, d.Cells}
}
