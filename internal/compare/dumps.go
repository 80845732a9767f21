package compare

import (
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
)

// The times that dumps may have, in microseconds: from 2000 to 2100. Other numbers in names
// are none.
const earliestTime, latestTime = 946_684_800_000_000, 4_102_444_800_000_000

// dumpsOf says what the files of rounds are, of all of their operators. A round is for itself:
// which others are read with it depends on the shard.
func dumpsOf(rounds []*dumpdir.Round) map[*dumpdir.Round]record.Dumps {
	all := make(map[*dumpdir.Round]record.Dumps, len(rounds))
	for _, round := range rounds {
		d, seen := record.Dumps{}, map[*dumpdir.File]bool{}
		for _, op := range round.Ops {
			for i := range op.Tensors {
				if file := op.Tensors[i].File; file.Err == nil && !seen[file] {
					seen[file] = true
					d.Files, d.Bytes = d.Files+1, d.Bytes+file.Size
				}
			}
			if at := op.Timestamp; at >= earliestTime && at < latestTime {
				d.Add(&record.Dumps{Oldest: at, Newest: at})
			}
		}
		for _, s := range round.Software {
			d.Software = append(d.Software, record.Software(s))
		}
		all[round] = d
	}
	return all
}
