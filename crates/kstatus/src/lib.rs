//! The reconcile status of any Kubernetes object, by the kpt convention. What belongs here: rules from one object and
//! a clock to a status, with the fields that decided. What does not: reading objects, clusters, output formats.
