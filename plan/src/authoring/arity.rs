//! The same thing for every number of inputs, 0 to 8.

/// Applies a macro to every number of inputs: a type, a variable and a position for each.
macro_rules! for_each_arity {
    ($apply:ident) => {
        $apply!();
        $apply!(A in_a 0);
        $apply!(A in_a 0, B in_b 1);
        $apply!(A in_a 0, B in_b 1, C in_c 2);
        $apply!(A in_a 0, B in_b 1, C in_c 2, D in_d 3);
        $apply!(A in_a 0, B in_b 1, C in_c 2, D in_d 3, E in_e 4);
        $apply!(A in_a 0, B in_b 1, C in_c 2, D in_d 3, E in_e 4, F in_f 5);
        $apply!(A in_a 0, B in_b 1, C in_c 2, D in_d 3, E in_e 4, F in_f 5, G in_g 6);
        $apply!(A in_a 0, B in_b 1, C in_c 2, D in_d 3, E in_e 4, F in_f 5, G in_g 6, H in_h 7);
    };
}
pub(super) use for_each_arity;
