package compare

import "dumptool/internal/compare/engine"

// Metrics are the numbers of a compared row. Those of the cells of
// cpu_vs_npu.csv (max_rel, mean_rel, err_max_abs, err_mean_abs, ref_mean,
// ref_std, ref_rms) are computed after HPAA's replacement of what is not finite;
// all others are over the pairs, or elements of a side, that are finite.
type Metrics struct {
	// What the verdict and the tables are made of. err_max_abs and err_mean_abs
	// are over the erroneous elements, 0 when there are none.
	MaxAbs     Number `json:"max_abs"`
	MeanAbs    Number `json:"mean_abs"`
	RMSE       Number `json:"rmse"`
	MaxRel     Number `json:"max_rel"`
	MeanRel    Number `json:"mean_rel"`
	ErrMaxAbs  Number `json:"err_max_abs"`
	ErrMeanAbs Number `json:"err_mean_abs"`
	Cosine     Number `json:"cosine"`
	Pearson    Number `json:"pearson"`
	RED        Number `json:"red"`
	SQNR       Number `json:"sqnr_db"`
	ULPMax     Number `json:"ulp_max"`
	RefMean    Number `json:"ref_mean"`
	RefStd     Number `json:"ref_std"`
	RefRMS     Number `json:"ref_rms"`

	// The same over pairs that are finite on both sides.
	MaxRelFinite     Number `json:"max_rel_finite"`
	MeanRelFinite    Number `json:"mean_rel_finite"`
	ErrMaxAbsFinite  Number `json:"err_max_abs_finite"`
	ErrMeanAbsFinite Number `json:"err_mean_abs_finite"`
	RefMeanFinite    Number `json:"ref_mean_finite"`
	RefStdFinite     Number `json:"ref_std_finite"`
	RefRMSFinite     Number `json:"ref_rms_finite"`

	// Places.
	MaxAbsOffset       Number `json:"max_abs_offset"`
	MaxRelOffset       Number `json:"max_rel_offset"`
	MaxRelFiniteOffset Number `json:"max_rel_finite_offset"`
	ULPMaxOffset       Number `json:"ulp_max_offset"`

	// Further metrics, all over pairs that are finite on both sides.
	MSE           Number `json:"mse"`
	AccRel        Number `json:"acc_rel"`
	RelUndefined  Number `json:"rel_undefined"`
	Diff1         Number `json:"diff1"`
	LinfRel       Number `json:"linf_rel"`
	CosineRaw     Number `json:"cosine_raw"`
	SNR           Number `json:"snr_db"`
	PSNR          Number `json:"psnr_db"`
	R1000         Number `json:"r1000"`
	R5000         Number `json:"r5000"`
	ULPMean       Number `json:"ulp_mean"`
	Bias          Number `json:"bias"`
	BiasZ         Number `json:"bias_z"`
	BiasCount     Number `json:"bias_count"`
	MeanD         Number `json:"mean_d"`
	StdD          Number `json:"std_d"`
	Scale         Number `json:"scale"`
	ScaleResidual Number `json:"scale_residual"`
	Margin        Number `json:"margin"`
	MinRtol       Number `json:"min_rtol"`
	MinAtol       Number `json:"min_atol"`
	KLD           Number `json:"kld"`

	// Quantiles of |d| and |d|/|r|.
	AbsP50  Number `json:"abs_p50"`
	AbsP90  Number `json:"abs_p90"`
	AbsP95  Number `json:"abs_p95"`
	AbsP99  Number `json:"abs_p99"`
	AbsP999 Number `json:"abs_p999"`
	RelP50  Number `json:"rel_p50"`
	RelP90  Number `json:"rel_p90"`
	RelP95  Number `json:"rel_p95"`
	RelP99  Number `json:"rel_p99"`
	RelP999 Number `json:"rel_p999"`

	// Counts of elements.
	Differ          Number `json:"differ"`
	Overflowed      Number `json:"overflowed"`
	Underflowed     Number `json:"underflowed"`
	SaturatedBoth   Number `json:"saturated_both"`
	SaturatedErrors Number `json:"saturated_errors"`
	WrappedErrors   Number `json:"wrapped_errors"`
	ZeroTail        Number `json:"zero_tail"`

	// Each side; numbers over its finite elements. See ref_mean above for more.
	RefMin       Number `json:"ref_min"`
	RefMax       Number `json:"ref_max"`
	RefVarFinite Number `json:"ref_var_finite"`
	RefL2        Number `json:"ref_l2"`
	RefZeros     Number `json:"ref_zeros"`
	RefNaN       Number `json:"ref_nan"`
	RefPosInf    Number `json:"ref_pos_inf"`
	RefNegInf    Number `json:"ref_neg_inf"`
	RefSaturated Number `json:"ref_saturated"`
	RefSubnormal Number `json:"ref_subnormal"`
	NPUMin       Number `json:"npu_min"`
	NPUMax       Number `json:"npu_max"`
	NPUMean      Number `json:"npu_mean"`
	NPUStd       Number `json:"npu_std"`
	NPUVar       Number `json:"npu_var"`
	NPURMS       Number `json:"npu_rms"`
	NPUL2        Number `json:"npu_l2"`
	NPUZeros     Number `json:"npu_zeros"`
	NPUNaN       Number `json:"npu_nan"`
	NPUPosInf    Number `json:"npu_pos_inf"`
	NPUNegInf    Number `json:"npu_neg_inf"`
	NPUSaturated Number `json:"npu_saturated"`
	NPUSubnormal Number `json:"npu_subnormal"`
}

// metricsOf lists the numbers of a result.
func metricsOf(r *engine.Result) *Metrics {
	return &Metrics{
		MaxAbs:             Number(r.MaxAbs.Metric),
		MeanAbs:            Number(r.MeanAbs),
		RMSE:               Number(r.RMSE),
		MaxRel:             Number(r.HPAA.MaxRel.Metric),
		MeanRel:            Number(r.HPAA.MeanRel),
		ErrMaxAbs:          NumberOf(r.HPAA.MaxAbs),
		ErrMeanAbs:         NumberOf(meanOfErrors(&r.HPAA.Errors)),
		Cosine:             Number(r.Cosine),
		Pearson:            Number(r.Pearson),
		RED:                Number(r.RED),
		SQNR:               Number(r.SQNR),
		ULPMax:             Number(r.ULPMax.Metric),
		RefMean:            Number(r.HPAA.Mean),
		RefStd:             Number(r.HPAA.Std),
		RefRMS:             Number(r.HPAA.RMS),
		MaxRelFinite:       Number(r.MaxRel.Metric),
		MeanRelFinite:      Number(r.MeanRel),
		ErrMaxAbsFinite:    NumberOf(r.Beyond.MaxAbs),
		ErrMeanAbsFinite:   NumberOf(meanOfErrors(&r.Beyond)),
		RefMeanFinite:      Number(r.Ref.Mean),
		RefStdFinite:       Number(r.Ref.Std),
		RefRMSFinite:       Number(r.Ref.RMS),
		MaxAbsOffset:       offsetOf(&r.MaxAbs),
		MaxRelOffset:       offsetOf(&r.HPAA.MaxRel),
		MaxRelFiniteOffset: offsetOf(&r.MaxRel),
		ULPMaxOffset:       offsetOf(&r.ULPMax),
		MSE:                Number(r.MSE),
		AccRel:             Number(r.AccRel),
		RelUndefined:       countOf(r.RelUndefined),
		Diff1:              Number(r.Diff1),
		LinfRel:            Number(r.LinfRel),
		CosineRaw:          Number(r.CosineRaw),
		SNR:                Number(r.SNR),
		PSNR:               Number(r.PSNR),
		R1000:              Number(r.R1000),
		R5000:              Number(r.R5000),
		ULPMean:            Number(r.ULPMean),
		Bias:               Number(r.Bias),
		BiasZ:              Number(r.BiasZ),
		BiasCount:          countOf(r.BiasCount),
		MeanD:              Number(r.MeanD),
		StdD:               Number(r.StdD),
		Scale:              Number(r.Scale),
		ScaleResidual:      Number(r.ScaleResidual),
		Margin:             Number(r.Margin),
		MinRtol:            Number(r.MinRtol),
		MinAtol:            Number(r.MinAtol),
		AbsP50:             Number(r.AbsQuantiles.P50),
		AbsP90:             Number(r.AbsQuantiles.P90),
		AbsP95:             Number(r.AbsQuantiles.P95),
		AbsP99:             Number(r.AbsQuantiles.P99),
		AbsP999:            Number(r.AbsQuantiles.P999),
		RelP50:             Number(r.RelQuantiles.P50),
		RelP90:             Number(r.RelQuantiles.P90),
		RelP95:             Number(r.RelQuantiles.P95),
		RelP99:             Number(r.RelQuantiles.P99),
		RelP999:            Number(r.RelQuantiles.P999),
		Differ:             countOf(r.Differ),
		Overflowed:         countOf(r.Overflowed),
		Underflowed:        countOf(r.Underflowed),
		SaturatedBoth:      countOf(r.SaturatedBoth),
		SaturatedErrors:    countOf(r.SaturatedErrors),
		WrappedErrors:      countOf(r.WrappedErrors),
		ZeroTail:           countOf(r.ZeroTail),
		RefMin:             Number(r.Ref.Min),
		RefMax:             Number(r.Ref.Max),
		RefVarFinite:       Number(r.Ref.Var),
		RefL2:              Number(r.Ref.L2),
		RefZeros:           countOf(r.Ref.Zeros),
		RefNaN:             countOf(r.Ref.NaN),
		RefPosInf:          countOf(r.Ref.PosInf),
		RefNegInf:          countOf(r.Ref.NegInf),
		RefSaturated:       countOf(r.Ref.Saturated),
		RefSubnormal:       countOf(r.Ref.Subnormal),
		NPUMin:             Number(r.NPU.Min),
		NPUMax:             Number(r.NPU.Max),
		NPUMean:            Number(r.NPU.Mean),
		NPUStd:             Number(r.NPU.Std),
		NPUVar:             Number(r.NPU.Var),
		NPURMS:             Number(r.NPU.RMS),
		NPUL2:              Number(r.NPU.L2),
		NPUZeros:           countOf(r.NPU.Zeros),
		NPUNaN:             countOf(r.NPU.NaN),
		NPUPosInf:          countOf(r.NPU.PosInf),
		NPUNegInf:          countOf(r.NPU.NegInf),
		NPUSaturated:       countOf(r.NPU.Saturated),
		NPUSubnormal:       countOf(r.NPU.Subnormal),
	}
}

// meanOfErrors is the mean |d| of erroneous elements, 0 when there are none.
func meanOfErrors(e *engine.Errors) float64 {
	if e.Count == 0 {
		return 0
	}
	return e.SumAbs / float64(e.Count)
}

// countOf is a count as a number; elements that fit in memory or on a disk are
// far fewer than float64 can count.
func countOf(n int64) Number { return NumberOf(float64(n)) }

// offsetOf is the place of an extreme.
func offsetOf(e *engine.Extreme) Number {
	if !e.Defined {
		return Number{}
	}
	return countOf(e.Offset)
}

// DocumentClasses counts the pairs by class, the NPU's element first: of
// nan_vs_finite the NPU's is NaN. They are undefined in rows that were not
// compared.
type DocumentClasses struct {
	BothFinite  Number `json:"both_finite"`
	NaNBoth     Number `json:"nan_both"`
	InfEqual    Number `json:"inf_equal"`
	InfOpposite Number `json:"inf_opposite"`
	NaNVsFinite Number `json:"nan_vs_finite"`
	FiniteVsNaN Number `json:"finite_vs_nan"`
	InfVsFinite Number `json:"inf_vs_finite"`
	FiniteVsInf Number `json:"finite_vs_inf"`
	NaNVsInf    Number `json:"nan_vs_inf"`
	InfVsNaN    Number `json:"inf_vs_nan"`
	// ClassMismatch counts all pairs of two classes.
	ClassMismatch Number `json:"class_mismatch"`
}

// classesOf groups the classes of a result.
func classesOf(r *engine.Result) DocumentClasses {
	const f, p, n, x = engine.Finite, engine.PosInf, engine.NegInf, engine.NaN
	c := &r.Classes
	return DocumentClasses{
		BothFinite:    countOf(c[f][f]),
		NaNBoth:       countOf(c[x][x]),
		InfEqual:      countOf(c[p][p] + c[n][n]),
		InfOpposite:   countOf(c[p][n] + c[n][p]),
		NaNVsFinite:   countOf(c[x][f]),
		FiniteVsNaN:   countOf(c[f][x]),
		InfVsFinite:   countOf(c[p][f] + c[n][f]),
		FiniteVsInf:   countOf(c[f][p] + c[f][n]),
		NaNVsInf:      countOf(c[x][p] + c[x][n]),
		InfVsNaN:      countOf(c[p][x] + c[n][x]),
		ClassMismatch: countOf(r.Mismatch.Count),
	}
}
