package page

import (
	"time"

	"dumptool/internal/compare/record"
)

// dumps is what the page says of the files of a side.
type dumps struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Oldest and Newest are the times in the names and headers of the files, in UTC; empty
	// without any.
	Oldest   string            `json:"oldest,omitempty"`
	Newest   string            `json:"newest,omitempty"`
	Software []record.Software `json:"software,omitempty"`
}

// dumpsOf are the files of the rounds of a side that the other side has too.
func dumpsOf(rounds []record.ListedRound) dumps {
	var all record.Dumps
	for i := range rounds {
		if rounds[i].Paired {
			all.Add(&rounds[i].Dumps)
		}
	}
	return dumps{Files: all.Files, Bytes: all.Bytes, Oldest: timeOf(all.Oldest), Newest: timeOf(all.Newest), Software: all.Software}
}

// timeOf is a time in microseconds since 1970 for people, in UTC; empty for none.
func timeOf(at uint64) string {
	if at == 0 {
		return ""
	}
	return time.UnixMicro(int64(at)).UTC().Format(time.DateTime)
}
